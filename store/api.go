package store

import (
	"errors"
	"net/netip"
)

// Errors of the store. Callers test with errors.Is.
var (
	// ErrClosed: the store is not started or already stopped.
	ErrClosed = errors.New("store: closed")
	// ErrReadOnly: a write or sync failed, or an operator said so; reads go on. The wrapping error says why.
	ErrReadOnly = errors.New("store: read-only")
	// ErrDiskFull: the disk is above its limit; appends go on by themselves once there is room.
	ErrDiskFull = errors.New("store: disk full")
	// ErrMessageTooLarge: body, properties or record above the limit that the wrapping error names.
	ErrMessageTooLarge = errors.New("store: message too large")
	// ErrFlushTimeout: the record is in the log, but was not synced in time.
	ErrFlushTimeout = errors.New("store: flush timeout")
	// ErrCorrupt marks damaged data, wherever it is seen.
	ErrCorrupt = errors.New("store: corrupt")
	// ErrNotFound: no such record, queue or topic.
	ErrNotFound = errors.New("store: not found")
	// ErrLocked: another process has the store.
	ErrLocked = errors.New("store: locked by another process")
	// ErrQueueType: the topic has queues of the other type (queue.type).
	ErrQueueType = errors.New("store: queue of another type")
	// ErrUnsupported: a store of a format that this program does not know; it is left untouched.
	ErrUnsupported = errors.New("store: unsupported format")
)

// Message is a message to be stored. Add reads it and keeps nothing of it.
type Message struct {
	Topic                     string
	QueueID                   int32
	Flag                      int32
	SysFlag                   int32 // bits 4 and 5 (IPv6 hosts) are set by the store from the hosts
	BornTimestamp             int64 // ms
	BornHost                  netip.AddrPort
	StoreHost                 netip.AddrPort // zero: Options.StoreHost
	ReconsumeTimes            int32
	PreparedTransactionOffset int64
	Properties                []byte // encoded: name 0x01 value 0x02 ...
	Body                      []byte
	// Tags, Keys and UniqKey repeat those of Properties ("" = absent), so that they are looked up once.
	Tags, Keys, UniqKey string
	// Inner says that the record holds so many messages, as a batch's bytes, and goes to a topic with queue.type=BatchCQ: each
	// of them takes a queue offset. 0: one message. The store writes the properties INNER_NUM and INNER_BASE.
	Inner int32
	// DelayLevel and DelayMs say, for a message to SCHEDULE_TOPIC_XXXX, that the queue's tags code is storeTimestamp + DelayMs.
	DelayLevel int32
	DelayMs    int64
}

// AppendResult is where a message of a batch went.
type AppendResult struct {
	QueueOffset    int64
	PhysicalOffset int64
	Size           int32
	StoreTimestamp int64 // ms
}

// GetStatus is the outcome of a Get, as Java's GetMessageStatus.
type GetStatus uint8

// Outcomes of Get. The comment is Java's name, which replies carry as their remark.
const (
	GetFound               GetStatus = iota // FOUND
	GetNoMatched                            // NO_MATCHED_MESSAGE
	GetWasRemoving                          // MESSAGE_WAS_REMOVING
	GetOffsetFoundNull                      // OFFSET_FOUND_NULL
	GetOffsetOverflowBadly                  // OFFSET_OVERFLOW_BADLY
	GetOffsetOverflowOne                    // OFFSET_OVERFLOW_ONE
	GetOffsetTooSmall                       // OFFSET_TOO_SMALL
	GetNoQueue                              // NO_MATCHED_LOGIC_QUEUE
	GetNoMessageInQueue                     // NO_MESSAGE_IN_QUEUE
	GetCold                                 // ours: HotOnly was asked and a record must be read from disk
)

// Filter selects messages. Implementations must be safe for concurrent use and keep nothing of what they are shown.
type Filter interface {
	// MatchTagsCode sees the tags code of the queue unit; false skips the message without reading it.
	MatchTagsCode(code int64) bool
	// MatchRecord sees the stored record; it is called only after MatchTagsCode said yes.
	MatchRecord(rec []byte) bool
}

// GetRequest asks for messages of one queue.
type GetRequest struct {
	Topic    string
	QueueID  int32
	Offset   int64
	MaxCount int
	MaxBytes int    // of records; the first message is returned whatever its size
	Filter   Filter // nil: all
	HotOnly  bool   // never wait for the disk: answer GetCold instead
}

// GetResult says what a Get found.
type GetResult struct {
	Status          GetStatus
	NextBeginOffset int64
	MinOffset       int64
	MaxOffset       int64
	Count           int
	Bytes           int
	// FarBehind: the reader is so far behind the log's end that reads come from disk.
	FarBehind bool
}

// Arrival tells of a message that consumers may now see.
type Arrival struct {
	Topic          string
	QueueID        int32
	QueueOffset    int64
	PhysicalOffset int64
	Size           int32
	TagsCode       int64
	StoreTimestamp int64
	// Batch: the record is one of a batch queue, and TagsCode says nothing of the messages in it.
	Batch bool
}

// Boundary chooses between the two ends of a run of equal times in OffsetByTime.
type Boundary uint8

// Boundaries, as Java's BoundaryType.
const (
	Lower Boundary = iota // first message at or after the time
	Upper                 // last message at or before the time
)

// KeyKind says which index entries QueryKey looks at.
type KeyKind uint8

// Kinds of index keys.
const (
	KeyUser KeyKind = iota // a word of KEYS
	KeyUniq                // UNIQ_KEY
	KeyTag                 // TAGS (entries that 5.5.0 added)
)

// QueryResult is what QueryKey found: whole records, newest first, verified against the key.
type QueryResult struct {
	Records             [][]byte
	IndexLastUpdateTime int64 // ms
	IndexLastUpdatePhys int64
}

// QueueUnit is one entry of a consume queue.
type QueueUnit struct {
	PhysicalOffset int64
	Size           int32
	TagsCode       int64
}
