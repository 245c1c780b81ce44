package conf

// Store holds the keys of MessageStoreConfig that mean something here.
type Store struct {
	// StorePathRootDir: Root of all store data; holds commitlog, consumequeue, index, config, checkpoint, abort, lock.
	StorePathRootDir string `conf:"storePathRootDir" default:"$home/store" important:"true"`
	// StorePathCommitLog: Commit log directory; empty means <root>/commitlog. Unit: path.
	StorePathCommitLog string `conf:"storePathCommitLog" default:"" important:"true"`
	// MappedFileSizeCommitLog: Size of one commit log file. Unit: B.
	MappedFileSizeCommitLog int `conf:"mappedFileSizeCommitLog" default:"1073741824"`
	// MappedFileSizeConsumeQueue: Size of one consume queue file, rounded up to a multiple of 20 (default 300000 entries). Unit: B.
	MappedFileSizeConsumeQueue int `conf:"mappedFileSizeConsumeQueue" default:"6000000"`
	// MapperFileSizeBatchConsumeQueue: Size of one batch consume queue file, rounded down to a multiple of 46 (default 300000 entries; the misspelling is the real key). Unit: B.
	MapperFileSizeBatchConsumeQueue int `conf:"mapperFileSizeBatchConsumeQueue" default:"13800000"`
	// EnableLmq: Serve light message queues (%LMQ%...). Messages enter them if enableMultiDispatch is true, too.
	EnableLmq bool `conf:"enableLmq" default:"false" important:"true"`
	// EnableMultiDispatch: Put a message into the light queues that its property INNER_MULTI_DISPATCH names, if enableLmq is true.
	EnableMultiDispatch bool `conf:"enableMultiDispatch" default:"false" important:"true"`
	// EnableLmqQuota: Refuse messages for new light queues once there are maxLmqConsumeQueueNum.
	EnableLmqQuota bool `conf:"enableLmqQuota" default:"false" live:"true"`
	// MaxLmqConsumeQueueNum: Most light queues, if enableLmqQuota is true.
	MaxLmqConsumeQueueNum int `conf:"maxLmqConsumeQueueNum" default:"20000" live:"true"`
	// FlushIntervalCommitLog: Period of asynchronous commit log flush. Unit: ms.
	FlushIntervalCommitLog int `conf:"flushIntervalCommitLog" default:"500" important:"true"`
	// DiskSpaceWarningLevelRatio: Stop writes above this disk use Unit: %.
	DiskSpaceWarningLevelRatio int `conf:"diskSpaceWarningLevelRatio" default:"90" clamp:"35..90" live:"true"`
	// DiskSpaceCleanForciblyRatio: Delete files at once above this disk use Unit: %.
	DiskSpaceCleanForciblyRatio int `conf:"diskSpaceCleanForciblyRatio" default:"85" clamp:"30..85" live:"true"`
	// CleanFileForciblyEnable: Above that, delete files even before they are expired.
	CleanFileForciblyEnable bool `conf:"cleanFileForciblyEnable" default:"true" live:"true"`
	// DeleteWhen: Hours of the day at which expired files are deleted, for example 04 or 04;16. Unit: hour;hour.
	DeleteWhen string `conf:"deleteWhen" default:"04" live:"true" important:"true"`
	// DiskMaxUsedSpaceRatio: Start deleting expired files above this disk use Unit: %.
	DiskMaxUsedSpaceRatio int `conf:"diskMaxUsedSpaceRatio" default:"75" clamp:"10..95" live:"true"`
	// FileReservedTime: Age after which commit log files expire. Unit: hours.
	FileReservedTime int `conf:"fileReservedTime" default:"72" live:"true" important:"true"`
	// MaxMessageSize: Max message body size. Unit: B.
	MaxMessageSize int `conf:"maxMessageSize" default:"4194304" live:"true"`
	// CheckCRCOnRecover: Check body CRC during recovery.
	CheckCRCOnRecover bool `conf:"checkCRCOnRecover" default:"true"`
	// MaxTransferBytesOnMessageInMemory: Bytes per pull reply for messages in memory. Unit: B.
	MaxTransferBytesOnMessageInMemory int `conf:"maxTransferBytesOnMessageInMemory" default:"262144" live:"true" important:"true"`
	// MaxTransferCountOnMessageInMemory: Messages per pull reply for messages in memory.
	MaxTransferCountOnMessageInMemory int `conf:"maxTransferCountOnMessageInMemory" default:"32" live:"true" important:"true"`
	// MessageIndexEnable: Build the key index.
	MessageIndexEnable bool `conf:"messageIndexEnable" default:"true" important:"true"`
	// MaxHashSlotNum: Hash slots of one index file.
	MaxHashSlotNum int `conf:"maxHashSlotNum" default:"5000000"`
	// MaxIndexNum: Entries of one index file.
	MaxIndexNum int `conf:"maxIndexNum" default:"20000000"`
	// MaxMsgsNumBatch: Max messages of one key query.
	MaxMsgsNumBatch int `conf:"maxMsgsNumBatch" default:"64" live:"true"`
	// HAListenPort: Replication port; 0 or unset means listenPort+1.
	HAListenPort int `conf:"haListenPort" default:"0" clamp:"0..65535"`
	// BrokerRole: Role.
	BrokerRole string `conf:"brokerRole" default:"ASYNC_MASTER" enum:"ASYNC_MASTER|SYNC_MASTER|SLAVE" important:"true"`
	// FlushDiskType: Reply before or after the disk flush.
	FlushDiskType string `conf:"flushDiskType" default:"ASYNC_FLUSH" enum:"ASYNC_FLUSH|SYNC_FLUSH" important:"true"`
	// SyncFlushTimeout: Wait for a synchronous flush. Unit: ms.
	SyncFlushTimeout int `conf:"syncFlushTimeout" default:"5000"`
	// MessageDelayLevel: Delay levels 1..N separated by blanks, units s m h d. Unit: list.
	MessageDelayLevel string `conf:"messageDelayLevel" default:"1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"`
	// FlushDelayOffsetInterval: Period of persisting delay offsets. Unit: ms.
	FlushDelayOffsetInterval int64 `conf:"flushDelayOffsetInterval" default:"10000"`
	// DefaultQueryMaxNum: Messages of a unique key query.
	DefaultQueryMaxNum int `conf:"defaultQueryMaxNum" default:"32" live:"true"`
	// TimerWheelEnable: Serve arbitrary delays (TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS); false refuses them.
	TimerWheelEnable bool `conf:"timerWheelEnable" default:"true" important:"true"`
	// TimerMaxDelaySec: Longest arbitrary delay that is taken; any number of days. Unit: s.
	TimerMaxDelaySec int64 `conf:"timerMaxDelaySec" default:"259200" live:"true" important:"true"`
	// TimerPrecisionMs: Length of a slot of the timer wheel: 100, 200, 500 or 1000; others are rounded down to one of them. Messages are delivered to the millisecond all the same. Unit: ms.
	TimerPrecisionMs int `conf:"timerPrecisionMs" default:"1000"`
	// TimerRollWindowSlot: Slots after which a message with a long delay is stored anew; less when fileReservedTime is short.
	TimerRollWindowSlot int `conf:"timerRollWindowSlot" default:"172800"`
	// TimerFlushIntervalMs: Period of writing the files of the timer wheel. Unit: ms.
	TimerFlushIntervalMs int `conf:"timerFlushIntervalMs" default:"1000"`
	// MappedFileSizeTimerLog: Size of one timer log file, when there is none yet. Unit: B.
	MappedFileSizeTimerLog int64 `conf:"mappedFileSizeTimerLog" default:"104857600"`
	// AppendTopicForTimerDeleteKey: Write recalls as RocketMQ 5.3.2 to 5.4 do, with the topic before the key, for a broker of these versions that takes the store over. Both forms are always understood.
	AppendTopicForTimerDeleteKey bool `conf:"appendTopicForTimerDeleteKey" default:"false" live:"true"`
}
