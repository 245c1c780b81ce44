package mqadmin

import (
	"slices"
	"strings"
)

// commands is the list of all commands, in the order that the overview shows them. A new family is one line here.
func commands() []*command {
	return slices.Concat(
		topicCommands(),
		topicUpdateCommands(),
		clusterCommands(),
		brokerCommands(),
		namesrvCommands(),
		progressCommands(),
		statusCommands(),
		connectionCommands(),
		groupCommands(),
		offsetCommands(),
		modeCommands(),
		queryCommands(),
		printCommands(),
		queueCommands(),
		sendCommands(),
		transactionCommands(),
		timerCommands(),
		purgeCommands(),
	)
}

// notYet are Java's commands that this version does not have, and what they belong to.
func notYet() map[string]string {
	return map[string]string{
		"addBroker": "broker container", "removeBroker": "broker container",
		"checkRocksdbCqWriteProgress": "RocksDB store", "exportMetadataInRocksDB": "RocksDB store", "exportPopRecord": "RocksDB store", "rocksDBConfigToJson": "RocksDB store",
		"cleanBrokerMetadata": "controller", "electMaster": "controller", "getControllerConfig": "controller", "getControllerMetaData": "controller",
		"getSyncStateSet": "controller", "updateControllerConfig": "controller",
		"getBrokerEpoch": "replication", "haStatus": "replication", "resetMasterFlushOffset": "replication",
		"copyAcl": "access control", "copyUser": "access control", "createAcl": "access control", "createUser": "access control", "deleteAcl": "access control",
		"deleteUser": "access control", "getAcl": "access control", "getUser": "access control", "listAcl": "access control", "listUser": "access control",
		"updateAcl": "access control", "updateUser": "access control",
		"dumpCompactionLog": "compaction",
		"exportConfigs":     "export to files", "exportMetadata": "export to files", "exportMetrics": "export to files",
		"getBrokerLiteInfo": "lite topics", "getLiteClientInfo": "lite topics", "getLiteGroupInfo": "lite topics", "getLiteTopicInfo": "lite topics",
		"getParentTopicInfo": "lite topics", "triggerLiteDispatch": "lite topics",
		"getColdDataFlowCtrInfo": "cold read control", "removeColdDataFlowCtrGroupConfig": "cold read control",
		"updateColdDataFlowCtrGroupConfig": "cold read control", "setCommitLogReadAheadMode": "cold read control",
		"queryMsgTraceById": "message traces",
		"startMonitoring":   "monitoring",
		"switchTimerEngine": "timers",
		"updateStaticTopic": "static topics", "remappingStaticTopic": "static topics",
	}
}

// unsupported is the listed name of a command of Java's that this version does not have, "" for any other.
func unsupported(name string) string {
	for known := range notYet() {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	return ""
}

func unsupportedReason(known string) string { return notYet()[known] }
