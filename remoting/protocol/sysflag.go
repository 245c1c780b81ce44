package protocol

// Bits of a message's sysFlag.
const (
	SysFlagCompressed  int32 = 0x1
	SysFlagMultiTags   int32 = 0x2
	SysFlagBornHostV6  int32 = 0x10
	SysFlagStoreHostV6 int32 = 0x20
	SysFlagNeedUnwrap  int32 = 0x40
	SysFlagInnerBatch  int32 = 0x80

	SysFlagTransactionMask     int32 = 0xC
	SysFlagTransactionNot      int32 = 0x0
	SysFlagTransactionPrepared int32 = 0x4
	SysFlagTransactionCommit   int32 = 0x8
	SysFlagTransactionRollback int32 = 0xC

	SysFlagCompressionMask   int32 = 0x700
	SysFlagCompressionLegacy int32 = 0x0 // not stated: zlib
	SysFlagCompressionLZ4    int32 = 0x100
	SysFlagCompressionZstd   int32 = 0x200
	SysFlagCompressionZlib   int32 = 0x300
)

// TransactionType returns the transaction bits of a message's sysFlag.
func TransactionType(sysFlag int32) int32 { return sysFlag & SysFlagTransactionMask }

// WithTransactionType replaces the transaction bits of a message's sysFlag.
func WithTransactionType(sysFlag, typ int32) int32 {
	return sysFlag&^SysFlagTransactionMask | typ&SysFlagTransactionMask
}

// Bits of a pull request's sysFlag.
const (
	PullFlagCommitOffset int32 = 0x1
	PullFlagSuspend      int32 = 0x2
	PullFlagSubscription int32 = 0x4
	PullFlagClassFilter  int32 = 0x8
	PullFlagLitePull     int32 = 0x10
)

// Bits of topicSysFlag and groupSysFlag.
const (
	TopicSysFlagUnit    int32 = 0x1
	TopicSysFlagUnitSub int32 = 0x2
	GroupSysFlagUnit    int32 = 0x1
)

// Bits of a topic's or queue's perm.
const (
	PermInherit  int32 = 0x1
	PermWrite    int32 = 0x2
	PermRead     int32 = 0x4
	PermPriority int32 = 0x8
)

// PermReadable reports whether a perm allows reading.
func PermReadable(perm int32) bool { return perm&PermRead != 0 }

// PermWritable reports whether a perm allows writing.
func PermWritable(perm int32) bool { return perm&PermWrite != 0 }

// PermString prints a perm as Java does: R, W and X (inherit), a dash for each that is missing.
func PermString(perm int32) string {
	b := [3]byte{'-', '-', '-'}
	for i, bit := range [3]int32{PermRead, PermWrite, PermInherit} {
		if perm&bit != 0 {
			b[i] = "RWX"[i]
		}
	}
	return string(b[:])
}
