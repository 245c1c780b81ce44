package protocol

import (
	"encoding/binary"
	"fmt"
)

// HARuntimeInfo is the reply of GET_BROKER_HA_STATUS.
type HARuntimeInfo struct {
	HAClientRuntimeInfo      HAClientRuntimeInfo `json:"haClientRuntimeInfo"`
	HAConnectionInfo         []HAConnectionInfo  `json:"haConnectionInfo"`
	InSyncSlaveNums          int32               `json:"inSyncSlaveNums"`
	Master                   bool                `json:"master"`
	MasterCommitLogMaxOffset int64               `json:"masterCommitLogMaxOffset"`
}

// HAClientRuntimeInfo is a slave's side of replication.
type HAClientRuntimeInfo struct {
	Activated               bool   `json:"activated"`
	LastReadTimestamp       int64  `json:"lastReadTimestamp"`
	LastWriteTimestamp      int64  `json:"lastWriteTimestamp"`
	MasterAddr              string `json:"masterAddr,omitempty"`
	MasterFlushOffset       int64  `json:"masterFlushOffset"`
	MaxOffset               int64  `json:"maxOffset"`
	TransferredByteInSecond int64  `json:"transferredByteInSecond"`
}

// HAConnectionInfo is one slave as its master sees it.
type HAConnectionInfo struct {
	Addr                    string `json:"addr"`
	Diff                    int64  `json:"diff"`
	InSync                  bool   `json:"inSync"`
	SlaveAckOffset          int64  `json:"slaveAckOffset"`
	TransferFromWhere       int64  `json:"transferFromWhere"`
	TransferredByteInSecond int64  `json:"transferredByteInSecond"`
}

// EpochEntryCache is the reply of GET_BROKER_EPOCH_CACHE.
type EpochEntryCache struct {
	BrokerID    int64        `json:"brokerId"`
	BrokerName  string       `json:"brokerName"`
	ClusterName string       `json:"clusterName"`
	EpochList   []EpochEntry `json:"epochList"`
	MaxOffset   int64        `json:"maxOffset"`
}

// EpochEntry is the part of a CommitLog that one master wrote.
type EpochEntry struct {
	EndOffset   int64 `json:"endOffset"`
	Epoch       int32 `json:"epoch"`
	StartOffset int64 `json:"startOffset"`
}

// SyncStateSet is a body of the controller's requests.
type SyncStateSet struct {
	SyncStateSet      []int64 `json:"syncStateSet"`
	SyncStateSetEpoch int32   `json:"syncStateSetEpoch"`
}

// ElectMasterResponseBody is the reply of CONTROLLER_ELECT_MASTER.
type ElectMasterResponseBody struct {
	BrokerMemberGroup *BrokerMemberGroup `json:"brokerMemberGroup,omitempty"`
	SyncStateSet      []int64            `json:"syncStateSet"`
}

// BrokerReplicasInfo is the reply of CONTROLLER_GET_SYNC_STATE_DATA.
type BrokerReplicasInfo struct {
	ReplicasInfoTable map[string]ReplicasInfo `json:"replicasInfoTable"`
}

// ReplicasInfo is the state of one broker group.
type ReplicasInfo struct {
	InSyncReplicas    []ReplicaIdentity `json:"inSyncReplicas"`
	MasterAddress     string            `json:"masterAddress,omitempty"`
	MasterBrokerID    int64             `json:"masterBrokerId"`
	MasterEpoch       int32             `json:"masterEpoch"`
	NotInSyncReplicas []ReplicaIdentity `json:"notInSyncReplicas"`
	SyncStateSetEpoch int32             `json:"syncStateSetEpoch"`
}

// ReplicaIdentity is one member of a broker group.
type ReplicaIdentity struct {
	Alive         bool   `json:"alive"`
	BrokerAddress string `json:"brokerAddress"`
	BrokerID      int64  `json:"brokerId"`
	BrokerName    string `json:"brokerName"`
}

// TimerMetrics is the reply of GET_TIMER_METRICS: topic → how much is on the wheel.
type TimerMetrics struct {
	DataVersion DataVersion            `json:"dataVersion"`
	TimingCount map[string]TimerMetric `json:"timingCount"`
}

// TimerMetric counts a topic's delayed messages.
type TimerMetric struct {
	Count     int64 `json:"count"`
	Timestamp int64 `json:"timeStamp"` // ms
}

// TimerCheckpoint is the reply of GET_TIMER_CHECK_POINT: 7 numbers, big-endian; old brokers send the first 4.
type TimerCheckpoint struct {
	LastReadTimeMs         int64
	LastTimerLogFlushPos   int64
	LastTimerQueueOffset   int64
	MasterTimerQueueOffset int64
	DataVersion            DataVersion
}

const (
	timerCheckpointSize    = 56
	oldTimerCheckpointSize = 32
)

// Append appends the 56 bytes of the checkpoint.
func (c *TimerCheckpoint) Append(dst []byte) []byte {
	for _, n := range [...]int64{
		c.LastReadTimeMs, c.LastTimerLogFlushPos, c.LastTimerQueueOffset, c.MasterTimerQueueOffset,
		c.DataVersion.StateVersion, c.DataVersion.Timestamp, c.DataVersion.Counter,
	} {
		dst = binary.BigEndian.AppendUint64(dst, uint64(n))
	}
	return dst
}

// Decode reads 56 or 32 bytes.
func (c *TimerCheckpoint) Decode(b []byte) error {
	if len(b) != timerCheckpointSize && len(b) != oldTimerCheckpointSize {
		return fmt.Errorf("protocol: timer checkpoint of %d bytes, want %d or %d", len(b), timerCheckpointSize, oldTimerCheckpointSize)
	}
	*c = TimerCheckpoint{}
	for i, p := range [...]*int64{
		&c.LastReadTimeMs, &c.LastTimerLogFlushPos, &c.LastTimerQueueOffset, &c.MasterTimerQueueOffset,
		&c.DataVersion.StateVersion, &c.DataVersion.Timestamp, &c.DataVersion.Counter,
	} {
		if 8*i < len(b) {
			*p = int64(binary.BigEndian.Uint64(b[8*i:]))
		}
	}
	return nil
}
