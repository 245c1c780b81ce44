package protocol

// ResponseCode is the code of a reply command (frame field "code"). 0 is success.
type ResponseCode = int32

// Response codes. The words are those of Java's ResponseCode.
const (
	RespSuccess                              ResponseCode = 0    // SUCCESS
	RespSystemError                          ResponseCode = 1    // SYSTEM_ERROR
	RespSystemBusy                           ResponseCode = 2    // SYSTEM_BUSY
	RespRequestCodeNotSupported              ResponseCode = 3    // REQUEST_CODE_NOT_SUPPORTED
	RespTransactionFailed                    ResponseCode = 4    // TRANSACTION_FAILED
	RespFlushDiskTimeout                     ResponseCode = 10   // FLUSH_DISK_TIMEOUT
	RespSlaveNotAvailable                    ResponseCode = 11   // SLAVE_NOT_AVAILABLE
	RespFlushSlaveTimeout                    ResponseCode = 12   // FLUSH_SLAVE_TIMEOUT
	RespMessageIllegal                       ResponseCode = 13   // MESSAGE_ILLEGAL
	RespServiceNotAvailable                  ResponseCode = 14   // SERVICE_NOT_AVAILABLE
	RespVersionNotSupported                  ResponseCode = 15   // VERSION_NOT_SUPPORTED
	RespNoPermission                         ResponseCode = 16   // NO_PERMISSION
	RespTopicNotExist                        ResponseCode = 17   // TOPIC_NOT_EXIST
	RespTopicExistAlready                    ResponseCode = 18   // TOPIC_EXIST_ALREADY
	RespPullNotFound                         ResponseCode = 19   // PULL_NOT_FOUND
	RespPullRetryImmediately                 ResponseCode = 20   // PULL_RETRY_IMMEDIATELY
	RespPullOffsetMoved                      ResponseCode = 21   // PULL_OFFSET_MOVED
	RespQueryNotFound                        ResponseCode = 22   // QUERY_NOT_FOUND
	RespSubscriptionParseFailed              ResponseCode = 23   // SUBSCRIPTION_PARSE_FAILED
	RespSubscriptionNotExist                 ResponseCode = 24   // SUBSCRIPTION_NOT_EXIST
	RespSubscriptionNotLatest                ResponseCode = 25   // SUBSCRIPTION_NOT_LATEST
	RespSubscriptionGroupNotExist            ResponseCode = 26   // SUBSCRIPTION_GROUP_NOT_EXIST
	RespFilterDataNotExist                   ResponseCode = 27   // FILTER_DATA_NOT_EXIST
	RespFilterDataNotLatest                  ResponseCode = 28   // FILTER_DATA_NOT_LATEST
	RespInvalidParameter                     ResponseCode = 29   // INVALID_PARAMETER
	RespTransactionShouldCommit              ResponseCode = 200  // TRANSACTION_SHOULD_COMMIT
	RespTransactionShouldRollback            ResponseCode = 201  // TRANSACTION_SHOULD_ROLLBACK
	RespTransactionStateUnknow               ResponseCode = 202  // TRANSACTION_STATE_UNKNOW
	RespTransactionStateGroupWrong           ResponseCode = 203  // TRANSACTION_STATE_GROUP_WRONG
	RespNoBuyerID                            ResponseCode = 204  // NO_BUYER_ID
	RespNotInCurrentUnit                     ResponseCode = 205  // NOT_IN_CURRENT_UNIT
	RespConsumerNotOnline                    ResponseCode = 206  // CONSUMER_NOT_ONLINE
	RespConsumeMsgTimeout                    ResponseCode = 207  // CONSUME_MSG_TIMEOUT
	RespNoMessage                            ResponseCode = 208  // NO_MESSAGE
	RespPollingFull                          ResponseCode = 209  // POLLING_FULL
	RespPollingTimeout                       ResponseCode = 210  // POLLING_TIMEOUT
	RespBrokerNotExist                       ResponseCode = 211  // BROKER_NOT_EXIST
	RespBrokerDispatchNotComplete            ResponseCode = 212  // BROKER_DISPATCH_NOT_COMPLETE
	RespBroadcastConsumption                 ResponseCode = 213  // BROADCAST_CONSUMPTION
	RespFlowControl                          ResponseCode = 215  // FLOW_CONTROL
	RespNotLeaderForQueue                    ResponseCode = 501  // NOT_LEADER_FOR_QUEUE
	RespIllegalOperation                     ResponseCode = 604  // ILLEGAL_OPERATION
	RespGoAway                               ResponseCode = 1500 // GO_AWAY
	RespControllerFencedMasterEpoch          ResponseCode = 2000 // CONTROLLER_FENCED_MASTER_EPOCH
	RespControllerFencedSyncStateSetEpoch    ResponseCode = 2001 // CONTROLLER_FENCED_SYNC_STATE_SET_EPOCH
	RespControllerInvalidMaster              ResponseCode = 2002 // CONTROLLER_INVALID_MASTER
	RespControllerInvalidReplicas            ResponseCode = 2003 // CONTROLLER_INVALID_REPLICAS
	RespControllerMasterNotAvailable         ResponseCode = 2004 // CONTROLLER_MASTER_NOT_AVAILABLE
	RespControllerInvalidRequest             ResponseCode = 2005 // CONTROLLER_INVALID_REQUEST
	RespControllerBrokerNotAlive             ResponseCode = 2006 // CONTROLLER_BROKER_NOT_ALIVE
	RespControllerNotLeader                  ResponseCode = 2007 // CONTROLLER_NOT_LEADER
	RespControllerBrokerMetadataNotExist     ResponseCode = 2008 // CONTROLLER_BROKER_METADATA_NOT_EXIST
	RespControllerInvalidCleanBrokerMetadata ResponseCode = 2009 // CONTROLLER_INVALID_CLEAN_BROKER_METADATA
	RespControllerBrokerNeedToBeRegistered   ResponseCode = 2010 // CONTROLLER_BROKER_NEED_TO_BE_REGISTERED
	RespControllerMasterStillExist           ResponseCode = 2011 // CONTROLLER_MASTER_STILL_EXIST
	RespControllerElectMasterFailed          ResponseCode = 2012 // CONTROLLER_ELECT_MASTER_FAILED
	RespControllerAlterSyncStateSetFailed    ResponseCode = 2013 // CONTROLLER_ALTER_SYNC_STATE_SET_FAILED
	RespControllerBrokerIDInvalid            ResponseCode = 2014 // CONTROLLER_BROKER_ID_INVALID
	RespControllerJraftInternalError         ResponseCode = 2015 // CONTROLLER_JRAFT_INTERNAL_ERROR
	RespControllerBrokerLiveInfoNotExists    ResponseCode = 2016 // CONTROLLER_BROKER_LIVE_INFO_NOT_EXISTS
	RespLmqQuotaExceeded                     ResponseCode = 2017 // LMQ_QUOTA_EXCEEDED
	RespLiteSubscriptionQuotaExceeded        ResponseCode = 2018 // LITE_SUBSCRIPTION_QUOTA_EXCEEDED
	RespUserNotExist                         ResponseCode = 3001 // USER_NOT_EXIST
	RespPolicyNotExist                       ResponseCode = 3002 // POLICY_NOT_EXIST
)

var responseNames = map[ResponseCode]string{
	0:    "SUCCESS",
	1:    "SYSTEM_ERROR",
	2:    "SYSTEM_BUSY",
	3:    "REQUEST_CODE_NOT_SUPPORTED",
	4:    "TRANSACTION_FAILED",
	10:   "FLUSH_DISK_TIMEOUT",
	11:   "SLAVE_NOT_AVAILABLE",
	12:   "FLUSH_SLAVE_TIMEOUT",
	13:   "MESSAGE_ILLEGAL",
	14:   "SERVICE_NOT_AVAILABLE",
	15:   "VERSION_NOT_SUPPORTED",
	16:   "NO_PERMISSION",
	17:   "TOPIC_NOT_EXIST",
	18:   "TOPIC_EXIST_ALREADY",
	19:   "PULL_NOT_FOUND",
	20:   "PULL_RETRY_IMMEDIATELY",
	21:   "PULL_OFFSET_MOVED",
	22:   "QUERY_NOT_FOUND",
	23:   "SUBSCRIPTION_PARSE_FAILED",
	24:   "SUBSCRIPTION_NOT_EXIST",
	25:   "SUBSCRIPTION_NOT_LATEST",
	26:   "SUBSCRIPTION_GROUP_NOT_EXIST",
	27:   "FILTER_DATA_NOT_EXIST",
	28:   "FILTER_DATA_NOT_LATEST",
	29:   "INVALID_PARAMETER",
	200:  "TRANSACTION_SHOULD_COMMIT",
	201:  "TRANSACTION_SHOULD_ROLLBACK",
	202:  "TRANSACTION_STATE_UNKNOW",
	203:  "TRANSACTION_STATE_GROUP_WRONG",
	204:  "NO_BUYER_ID",
	205:  "NOT_IN_CURRENT_UNIT",
	206:  "CONSUMER_NOT_ONLINE",
	207:  "CONSUME_MSG_TIMEOUT",
	208:  "NO_MESSAGE",
	209:  "POLLING_FULL",
	210:  "POLLING_TIMEOUT",
	211:  "BROKER_NOT_EXIST",
	212:  "BROKER_DISPATCH_NOT_COMPLETE",
	213:  "BROADCAST_CONSUMPTION",
	215:  "FLOW_CONTROL",
	501:  "NOT_LEADER_FOR_QUEUE",
	604:  "ILLEGAL_OPERATION",
	1500: "GO_AWAY",
	2000: "CONTROLLER_FENCED_MASTER_EPOCH",
	2001: "CONTROLLER_FENCED_SYNC_STATE_SET_EPOCH",
	2002: "CONTROLLER_INVALID_MASTER",
	2003: "CONTROLLER_INVALID_REPLICAS",
	2004: "CONTROLLER_MASTER_NOT_AVAILABLE",
	2005: "CONTROLLER_INVALID_REQUEST",
	2006: "CONTROLLER_BROKER_NOT_ALIVE",
	2007: "CONTROLLER_NOT_LEADER",
	2008: "CONTROLLER_BROKER_METADATA_NOT_EXIST",
	2009: "CONTROLLER_INVALID_CLEAN_BROKER_METADATA",
	2010: "CONTROLLER_BROKER_NEED_TO_BE_REGISTERED",
	2011: "CONTROLLER_MASTER_STILL_EXIST",
	2012: "CONTROLLER_ELECT_MASTER_FAILED",
	2013: "CONTROLLER_ALTER_SYNC_STATE_SET_FAILED",
	2014: "CONTROLLER_BROKER_ID_INVALID",
	2015: "CONTROLLER_JRAFT_INTERNAL_ERROR",
	2016: "CONTROLLER_BROKER_LIVE_INFO_NOT_EXISTS",
	2017: "LMQ_QUOTA_EXCEEDED",
	2018: "LITE_SUBSCRIPTION_QUOTA_EXCEEDED",
	3001: "USER_NOT_EXIST",
	3002: "POLICY_NOT_EXIST",
}

// ResponseName returns the Java name of a response code, or "" for an unknown one.
func ResponseName(code ResponseCode) string { return responseNames[code] }
