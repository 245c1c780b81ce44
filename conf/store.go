package conf

// Store holds the keys of MessageStoreConfig that mean something here.
type Store struct {
	// StorePathRootDir: Root of all store data; holds commitlog, consumequeue, index, config, checkpoint, abort, lock.
	StorePathRootDir string `conf:"storePathRootDir" default:""`
	// StorePathCommitLog: Commit log directory; several directories joined by `,` spread the files. Null means <root>/commitlog. Unit: path or path,path.
	StorePathCommitLog string `conf:"storePathCommitLog" default:""`
	// StorePathDLedgerCommitLog: Directory of the DLedger log.
	StorePathDLedgerCommitLog string `conf:"storePathDLedgerCommitLog" default:""`
	// StorePathEpochFile: Epoch file of controller mode. Null means <root>/epochFileCheckpoint.
	StorePathEpochFile string `conf:"storePathEpochFile" default:""`
	// StorePathBrokerIdentity: Identity file of controller mode. Null means <root>/brokerIdentity.
	StorePathBrokerIdentity string `conf:"storePathBrokerIdentity" default:""`
	// ReadOnlyCommitLogStorePaths: Directories that are still read but no longer written. Unit: path,path.
	ReadOnlyCommitLogStorePaths string `conf:"readOnlyCommitLogStorePaths" default:""`
	// MappedFileSizeCommitLog: Size of one commit log file. Unit: B.
	MappedFileSizeCommitLog int `conf:"mappedFileSizeCommitLog" default:"1073741824"`
	// CompactionMappedFileSize: Size of one compaction log file. Unit: B.
	CompactionMappedFileSize int `conf:"compactionMappedFileSize" default:"104857600"`
	// CompactionCqMappedFileSize: Size of one compaction consume queue file. Unit: B.
	CompactionCqMappedFileSize int `conf:"compactionCqMappedFileSize" default:"10485760"`
	// CompactionScheduleInternal: Period of compaction (the misspelling is the real key). Unit: ms.
	CompactionScheduleInternal int `conf:"compactionScheduleInternal" default:"900000"`
	// EnableCompaction: Enable compacted topics.
	EnableCompaction bool `conf:"enableCompaction" default:"true"`
	// MappedFileSizeTimerLog: Size of one timer log file. Unit: B.
	MappedFileSizeTimerLog int `conf:"mappedFileSizeTimerLog" default:"104857600"`
	// TimerPrecisionMs: Timer tick; only 100, 200, 500 or 1000, other values are rounded down to one of them. Unit: ms.
	TimerPrecisionMs int `conf:"timerPrecisionMs" default:"1000"`
	// TimerRollWindowSlot: Slots of the timer wheel before a far delay is rolled again. Unit: slots.
	TimerRollWindowSlot int `conf:"timerRollWindowSlot" default:"172800"`
	// TimerFlushIntervalMs: Flush period of timer state. Unit: ms.
	TimerFlushIntervalMs int `conf:"timerFlushIntervalMs" default:"1000"`
	// TimerInterceptDelayLevel: Route delay-level messages to the timer wheel too.
	TimerInterceptDelayLevel bool `conf:"timerInterceptDelayLevel" default:"false"`
	// TimerMaxDelaySec: Longest accepted arbitrary delay. Unit: s.
	TimerMaxDelaySec int `conf:"timerMaxDelaySec" default:"259200"`
	// TimerWheelEnable: Enable arbitrary delay (timer wheel).
	TimerWheelEnable bool `conf:"timerWheelEnable" default:"true"`
	// DisappearTimeAfterStart: Stay invisible to NameServer and internal services this long after start; -1 off. Unit: ms.
	DisappearTimeAfterStart int `conf:"disappearTimeAfterStart" default:"-1"`
	// TimerStopEnqueue: Stop taking new timer messages.
	TimerStopEnqueue bool `conf:"timerStopEnqueue" default:"false"`
	// TimerSkipUnknownError: Skip a timer message whose handling fails for an unknown reason.
	TimerSkipUnknownError bool `conf:"timerSkipUnknownError" default:"false"`
	// TimerEnableRetryUntilSuccess: Retry the re-put for ever.
	TimerEnableRetryUntilSuccess bool `conf:"timerEnableRetryUntilSuccess" default:"false"`
	// TimerCongestNumEachSlot: Messages per slot before flow control.
	TimerCongestNumEachSlot int `conf:"timerCongestNumEachSlot" default:"2147483647"`
	// StoreType: Consume queue backend; several values may be joined with `;`. Unit: enum default/defaultRocksDB.
	StoreType string `conf:"storeType" default:"default"`
	// MappedFileSizeConsumeQueue: Size of one consume queue file, rounded up to a multiple of 20 (default 300000 entries). Unit: B.
	MappedFileSizeConsumeQueue int `conf:"mappedFileSizeConsumeQueue" default:"6000000"`
	// EnableConsumeQueueExt: Write consume queue extension files (SQL92 bit maps).
	EnableConsumeQueueExt bool `conf:"enableConsumeQueueExt" default:"false"`
	// MappedFileSizeConsumeQueueExt: Size of one extension file. Unit: B.
	MappedFileSizeConsumeQueueExt int `conf:"mappedFileSizeConsumeQueueExt" default:"50331648"`
	// MapperFileSizeBatchConsumeQueue: Size of one batch consume queue file (300000 entries of 46 bytes; the misspelling is the real key). Unit: B.
	MapperFileSizeBatchConsumeQueue int `conf:"mapperFileSizeBatchConsumeQueue" default:"13800000"`
	// BitMapLengthConsumeQueueExt: Length of the filter bit map; recomputed at start.
	BitMapLengthConsumeQueueExt int `conf:"bitMapLengthConsumeQueueExt" default:"64"`
	// FlushIntervalCommitLog: Period of asynchronous commit log flush. Unit: ms.
	FlushIntervalCommitLog int `conf:"flushIntervalCommitLog" default:"500"`
	// CommitIntervalCommitLog: Period of moving transient pool data to the file channel. Unit: ms.
	CommitIntervalCommitLog int `conf:"commitIntervalCommitLog" default:"200"`
	// DiskSpaceWarningLevelRatio: Stop writes above this disk use; clamped to 35..90; -Drocketmq.broker.diskSpaceWarningLevelRatio (0..1) wins. Unit: %.
	DiskSpaceWarningLevelRatio int `conf:"diskSpaceWarningLevelRatio" default:"90"`
	// DiskSpaceCleanForciblyRatio: Delete files at once above this disk use; clamped to 30..85; -Drocketmq.broker.diskSpaceCleanForciblyRatio wins. Unit: %.
	DiskSpaceCleanForciblyRatio int `conf:"diskSpaceCleanForciblyRatio" default:"85"`
	// UseReentrantLockWhenPutMessage: Mutex instead of spin lock on the write path.
	UseReentrantLockWhenPutMessage bool `conf:"useReentrantLockWhenPutMessage" default:"true"`
	// FlushCommitLogTimed: Flush on a fixed period instead of on demand.
	FlushCommitLogTimed bool `conf:"flushCommitLogTimed" default:"true"`
	// FlushIntervalConsumeQueue: Period of consume queue flush. Unit: ms.
	FlushIntervalConsumeQueue int `conf:"flushIntervalConsumeQueue" default:"1000"`
	// CleanResourceInterval: Period of the file cleaner. Unit: ms.
	CleanResourceInterval int `conf:"cleanResourceInterval" default:"10000"`
	// DestroyMapedFileIntervalForcibly: Wait before a referenced file is destroyed anyway. Unit: ms.
	DestroyMapedFileIntervalForcibly int `conf:"destroyMapedFileIntervalForcibly" default:"120000"`
	// RedeleteHangedFileInterval: Period of retrying hung deletions. Unit: ms.
	RedeleteHangedFileInterval int `conf:"redeleteHangedFileInterval" default:"120000"`
	// DeleteWhen: Hours of the day at which expired files are deleted, for example 04 or 04;16. Unit: hour;hour.
	DeleteWhen string `conf:"deleteWhen" default:"04"`
	// DiskMaxUsedSpaceRatio: Start deleting expired files above this disk use; clamped to 10..95. Unit: %.
	DiskMaxUsedSpaceRatio int `conf:"diskMaxUsedSpaceRatio" default:"75"`
	// FileReservedTime: Age after which commit log files expire. Unit: hours.
	FileReservedTime int `conf:"fileReservedTime" default:"72"`
	// DeleteFileBatchMax: Max files deleted per round.
	DeleteFileBatchMax int `conf:"deleteFileBatchMax" default:"10"`
	// MaxMessageSize: Max message body size. Unit: B.
	MaxMessageSize int `conf:"maxMessageSize" default:"4194304"`
	// MaxFilterMessageSize: Consume queue bytes scanned per pull when filtering. Unit: B.
	MaxFilterMessageSize int `conf:"maxFilterMessageSize" default:"16000"`
	// CheckCRCOnRecover: Check body CRC during recovery.
	CheckCRCOnRecover bool `conf:"checkCRCOnRecover" default:"true"`
	// FlushCommitLogLeastPages: Dirty pages needed for a flush. Unit: pages.
	FlushCommitLogLeastPages int `conf:"flushCommitLogLeastPages" default:"4"`
	// FlushConsumeQueueLeastPages: Dirty pages needed for a consume queue flush. Unit: pages.
	FlushConsumeQueueLeastPages int `conf:"flushConsumeQueueLeastPages" default:"2"`
	// FlushCommitLogThoroughInterval: Flush everything after this time. Unit: ms.
	FlushCommitLogThoroughInterval int `conf:"flushCommitLogThoroughInterval" default:"10000"`
	// FlushConsumeQueueThoroughInterval: Flush every consume queue after this time. Unit: ms.
	FlushConsumeQueueThoroughInterval int `conf:"flushConsumeQueueThoroughInterval" default:"60000"`
	// MaxTransferBytesOnMessageInMemory: Bytes per pull reply for messages in memory. Unit: B.
	MaxTransferBytesOnMessageInMemory int `conf:"maxTransferBytesOnMessageInMemory" default:"262144"`
	// MaxTransferCountOnMessageInMemory: Messages per pull reply for messages in memory.
	MaxTransferCountOnMessageInMemory int `conf:"maxTransferCountOnMessageInMemory" default:"32"`
	// MaxTransferBytesOnMessageInDisk: Bytes per pull reply for messages on disk. Unit: B.
	MaxTransferBytesOnMessageInDisk int `conf:"maxTransferBytesOnMessageInDisk" default:"65536"`
	// MaxTransferCountOnMessageInDisk: Messages per pull reply for messages on disk.
	MaxTransferCountOnMessageInDisk int `conf:"maxTransferCountOnMessageInDisk" default:"8"`
	// AccessMessageInMemoryMaxRatio: Share of physical memory assumed to hold recent messages; slaves used to get 10 less (up to 5.3.3). Unit: %.
	AccessMessageInMemoryMaxRatio int `conf:"accessMessageInMemoryMaxRatio" default:"40"`
	// MessageIndexEnable: Build the key index.
	MessageIndexEnable bool `conf:"messageIndexEnable" default:"true"`
	// MaxHashSlotNum: Hash slots of one index file.
	MaxHashSlotNum int `conf:"maxHashSlotNum" default:"5000000"`
	// MaxIndexNum: Entries of one index file.
	MaxIndexNum int `conf:"maxIndexNum" default:"20000000"`
	// MaxMsgsNumBatch: Max messages of one key query.
	MaxMsgsNumBatch int `conf:"maxMsgsNumBatch" default:"64"`
	// HAListenPort: Replication port; 0 or unset means listenPort+1.
	HAListenPort int `conf:"haListenPort" default:"10912"`
	// HASendHeartbeatInterval: Replication heartbeat. Unit: ms.
	HASendHeartbeatInterval int `conf:"haSendHeartbeatInterval" default:"5000"`
	// HAHousekeepingInterval: Replication connection is dead after this silence. Unit: ms.
	HAHousekeepingInterval int `conf:"haHousekeepingInterval" default:"20000"`
	// HATransferBatchSize: Replication batch. Unit: B.
	HATransferBatchSize int `conf:"haTransferBatchSize" default:"32768"`
	// HAMasterAddress: Fixed master replication address for a slave; empty means learn from NameServer.
	HAMasterAddress string `conf:"haMasterAddress" default:""`
	// HAMaxGapNotInSync: A slave further behind is not in sync. Unit: B.
	HAMaxGapNotInSync int `conf:"haMaxGapNotInSync" default:"268435456"`
	// BrokerRole: Role; an unknown word is ignored silently. Unit: enum ASYNC_MASTER/SYNC_MASTER/SLAVE.
	BrokerRole string `conf:"brokerRole" default:"ASYNC_MASTER"`
	// FlushDiskType: Reply before or after the disk flush. Unit: enum ASYNC_FLUSH/SYNC_FLUSH.
	FlushDiskType string `conf:"flushDiskType" default:"ASYNC_FLUSH"`
	// SyncFlushTimeout: Wait for a synchronous flush. Unit: ms.
	SyncFlushTimeout int `conf:"syncFlushTimeout" default:"5000"`
	// SlaveTimeout: Wait for a slave acknowledgement. Unit: ms.
	SlaveTimeout int `conf:"slaveTimeout" default:"3000"`
	// MessageDelayLevel: Delay levels 1..N separated by blanks, units s m h d. Unit: list.
	MessageDelayLevel string `conf:"messageDelayLevel" default:"1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"`
	// FlushDelayOffsetInterval: Period of persisting delay offsets. Unit: ms.
	FlushDelayOffsetInterval int64 `conf:"flushDelayOffsetInterval" default:"10000"`
	// CleanFileForciblyEnable: Allow immediate deletion when the disk is nearly full.
	CleanFileForciblyEnable bool `conf:"cleanFileForciblyEnable" default:"true"`
	// WarmMapedFileEnable: Touch and lock pages of new commit log files.
	WarmMapedFileEnable bool `conf:"warmMapedFileEnable" default:"false"`
	// OffsetCheckInSlave: Correct illegal offsets on a slave too.
	OffsetCheckInSlave bool `conf:"offsetCheckInSlave" default:"false"`
	// DiskFallRecorded: Record how far consumers lag on disk.
	DiskFallRecorded bool `conf:"diskFallRecorded" default:"true"`
	// OsPageCacheBusyTimeOutMills: Page cache is busy when a write holds the lock this long; users raise it with `[PCBUSY_CLEAN_QUEUE]broker busy`. Unit: ms.
	OsPageCacheBusyTimeOutMills int64 `conf:"osPageCacheBusyTimeOutMills" default:"1000"`
	// DefaultQueryMaxNum: Messages of a unique key query.
	DefaultQueryMaxNum int `conf:"defaultQueryMaxNum" default:"32"`
	// TransientStorePoolEnable: Write through an off-heap pool (async flush masters only).
	TransientStorePoolEnable bool `conf:"transientStorePoolEnable" default:"false"`
	// TransientStorePoolSize: Buffers in that pool. Unit: buffers.
	TransientStorePoolSize int `conf:"transientStorePoolSize" default:"5"`
	// FastFailIfNoBufferInStorePool: Answer SYSTEM_BUSY when the pool is empty.
	FastFailIfNoBufferInStorePool bool `conf:"fastFailIfNoBufferInStorePool" default:"false"`
	// WriteWithoutMmap: Write with file channels instead of mmap; wins over transientStorePoolEnable.
	WriteWithoutMmap bool `conf:"writeWithoutMmap" default:"false"`
	// EnableDLegerCommitLog: DLedger (Raft) commit log; the spelling DLeger is the real key.
	EnableDLegerCommitLog bool `conf:"enableDLegerCommitLog" default:"false"`
	// DLegerGroup: Raft group name, normally the broker name.
	DLegerGroup string `conf:"dLegerGroup" default:""`
	// DLegerPeers: Raft peers. Unit: id-host:port;....
	DLegerPeers string `conf:"dLegerPeers" default:""`
	// DLegerSelfID: Own id in dLegerPeers.
	DLegerSelfID string `conf:"dLegerSelfId" default:""`
	// PreferredLeaderID: Preferred Raft leader.
	PreferredLeaderID string `conf:"preferredLeaderId" default:""`
	// EnableBatchPush: Batch Raft push.
	EnableBatchPush bool `conf:"enableBatchPush" default:"false"`
	// EnableLmq: Light message queues (%LMQ%).
	EnableLmq bool `conf:"enableLmq" default:"false"`
	// EnableMultiDispatch: Dispatch one message to several queues (INNER_MULTI_DISPATCH).
	EnableMultiDispatch bool `conf:"enableMultiDispatch" default:"false"`
	// EnableScheduleAsyncDeliver: Deliver delayed messages asynchronously.
	EnableScheduleAsyncDeliver bool `conf:"enableScheduleAsyncDeliver" default:"false"`
	// AutoMessageVersionOnTopicLen: Use message format V2 when the topic name is longer than 127 bytes.
	AutoMessageVersionOnTopicLen bool `conf:"autoMessageVersionOnTopicLen" default:"true"`
	// EnabledAppendPropCRC: Append a property CRC to each message; restart needed.
	EnabledAppendPropCRC bool `conf:"enabledAppendPropCRC" default:"false"`
	// ForceVerifyPropCRC: Refuse records without a valid property CRC.
	ForceVerifyPropCRC bool `conf:"forceVerifyPropCRC" default:"false"`
	// TravelCqFileNumWhenGetMessage: Consume queue files visited per pull when nothing matches.
	TravelCqFileNumWhenGetMessage int `conf:"travelCqFileNumWhenGetMessage" default:"1"`
	// TotalReplicas: Replicas in the broker group, master included.
	TotalReplicas int `conf:"totalReplicas" default:"1"`
	// InSyncReplicas: Copies a write needs (SYNC_MASTER only).
	InSyncReplicas int `conf:"inSyncReplicas" default:"1"`
	// MinInSyncReplicas: Floor of inSyncReplicas when it is lowered automatically, and of controller mode.
	MinInSyncReplicas int `conf:"minInSyncReplicas" default:"1"`
	// AllAckInSyncStateSet: Every member of the in-sync set must acknowledge.
	AllAckInSyncStateSet bool `conf:"allAckInSyncStateSet" default:"false"`
	// EnableAutoInSyncReplicas: Lower inSyncReplicas when fewer replicas are alive.
	EnableAutoInSyncReplicas bool `conf:"enableAutoInSyncReplicas" default:"false"`
	// HAFlowControlEnable: Limit replication speed.
	HAFlowControlEnable bool `conf:"haFlowControlEnable" default:"false"`
	// MaxHaTransferByteInSecond: That limit, per slave. Unit: B/s.
	MaxHaTransferByteInSecond int64 `conf:"maxHaTransferByteInSecond" default:"104857600"`
	// HAMaxTimeSlaveNotCatchup: A slave that lags this long leaves the in-sync set. Unit: ms.
	HAMaxTimeSlaveNotCatchup int64 `conf:"haMaxTimeSlaveNotCatchup" default:"15000"`
	// SyncMasterFlushOffsetWhenStartup: A slave asks the master for its flush offset at start.
	SyncMasterFlushOffsetWhenStartup bool `conf:"syncMasterFlushOffsetWhenStartup" default:"false"`
	// ReplicasPerDiskPartition: Brokers sharing one disk partition.
	ReplicasPerDiskPartition int `conf:"replicasPerDiskPartition" default:"1"`
	// LogicalDiskSpaceCleanForciblyThreshold: Share of its part of the disk after which such a broker cleans at once. Unit: ratio.
	LogicalDiskSpaceCleanForciblyThreshold float64 `conf:"logicalDiskSpaceCleanForciblyThreshold" default:"0.8"`
	// SyncFromLastFile: A new replica copies only from the last file.
	SyncFromLastFile bool `conf:"syncFromLastFile" default:"false"`
	// AsyncLearner: Replicate without counting for acknowledgements.
	AsyncLearner bool `conf:"asyncLearner" default:"false"`
	// ColdDataFlowControlEnable: Cold read flow control.
	ColdDataFlowControlEnable bool `conf:"coldDataFlowControlEnable" default:"false"`
	// DataReadAheadEnable: Allow switching commit log read-ahead.
	DataReadAheadEnable bool `conf:"dataReadAheadEnable" default:"true"`
	// AccessMessageInMemoryHotRatio: Share of memory that counts as hot. Unit: %.
	AccessMessageInMemoryHotRatio int `conf:"accessMessageInMemoryHotRatio" default:"26"`
	// ReadUnCommitted: Dispatch past the confirmed offset.
	ReadUnCommitted bool `conf:"readUnCommitted" default:"false"`
	// RocksdbCQDoubleWriteEnable: Write file and RocksDB consume queues.
	RocksdbCQDoubleWriteEnable bool `conf:"rocksdbCQDoubleWriteEnable" default:"false"`
	// EnableAcceleratedRecovery: Skip dispatch during recovery; only after SYNC_FLUSH with RocksDB.
	EnableAcceleratedRecovery bool `conf:"enableAcceleratedRecovery" default:"false"`
	// TimerWheelSnapshotFlush: Flush the timer wheel as snapshots.
	TimerWheelSnapshotFlush bool `conf:"timerWheelSnapshotFlush" default:"false"`
	// TimerWheelSnapshotIntervalMs: Period of those snapshots. Unit: ms.
	TimerWheelSnapshotIntervalMs int `conf:"timerWheelSnapshotIntervalMs" default:"10000"`
	// CommitLogRecoverMaxNum: Commit log files scanned by recovery. Unit: files.
	CommitLogRecoverMaxNum int `conf:"commitLogRecoverMaxNum" default:"10"`
	// TimerRocksDBEnable: RocksDB timer engine.
	TimerRocksDBEnable bool `conf:"timerRocksDBEnable" default:"false"`
	// TimerRocksDBStopScan: Stop its scan.
	TimerRocksDBStopScan bool `conf:"timerRocksDBStopScan" default:"false"`
	// TimerRocksDBPrecisionMs: Its tick. Unit: ms.
	TimerRocksDBPrecisionMs int64 `conf:"timerRocksDBPrecisionMs" default:"1000"`
	// TimerRecallToTimeWheelEnable: Recall into the time wheel.
	TimerRecallToTimeWheelEnable bool `conf:"timerRecallToTimeWheelEnable" default:"true"`
	// TimerRecallToTimelineEnable: Recall into the RocksDB timeline.
	TimerRecallToTimelineEnable bool `conf:"timerRecallToTimelineEnable" default:"true"`
	// TransRocksDBEnable: RocksDB transaction state.
	TransRocksDBEnable bool `conf:"transRocksDBEnable" default:"false"`
	// TransWriteOriginTransHalfEnable: Keep writing the classic half topic too.
	TransWriteOriginTransHalfEnable bool `conf:"transWriteOriginTransHalfEnable" default:"true"`
	// IndexRocksDBEnable: RocksDB key index.
	IndexRocksDBEnable bool `conf:"indexRocksDBEnable" default:"false"`
	// MaxRocksDBIndexQueryDays: Query range of that index. Unit: days.
	MaxRocksDBIndexQueryDays int `conf:"maxRocksDBIndexQueryDays" default:"7"`
	// IndexFileWriteEnable: Write classic index files.
	IndexFileWriteEnable bool `conf:"indexFileWriteEnable" default:"true"`
	// IndexFileReadEnable: Read classic index files.
	IndexFileReadEnable bool `conf:"indexFileReadEnable" default:"true"`
	// CheckCommitLogOffsetOnRecover: Check the offset field of records during recovery.
	CheckCommitLogOffsetOnRecover bool `conf:"checkCommitLogOffsetOnRecover" default:"false"`
	// EnableLmqQuota: Enforce light queue quota.
	EnableLmqQuota bool `conf:"enableLmqQuota" default:"false"`
	// AppendTopicForTimerDeleteKey: Add the topic to the delete key of timer messages.
	AppendTopicForTimerDeleteKey bool `conf:"appendTopicForTimerDeleteKey" default:"false"`
	// StoreCheckPoint: Spelling variant found in real files; never read.
	StoreCheckPoint string `conf:"storeCheckPoint" default:""`
	// StorePathCheckpoint: Spelling variant found in real files; never read.
	StorePathCheckpoint string `conf:"storePathCheckpoint" default:""`
	// StorePathAbort: Spelling variant found in real files; never read.
	StorePathAbort string `conf:"storePathAbort" default:""`
}
