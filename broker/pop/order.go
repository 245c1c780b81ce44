package pop

import (
	"slices"
	"strconv"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// orderInfo is what an ordered group has of one queue: what it popped last and what of that is acknowledged. The names are those of
// consumerOrderInfo.json.
type orderInfo struct {
	PopTime     int64           `json:"popTime"`
	Invisible   int64           `json:"i"`
	Offsets     []int64         `json:"o"` // the first, then distances from it
	NextVisible map[int64]int64 `json:"ot,omitempty"`
	Consumed    map[int64]int32 `json:"oc,omitempty"`
	LastConsume int64           `json:"l"`
	Committed   uint64          `json:"cm"`
	AttemptID   string          `json:"a,omitempty"`
}

func (o *orderInfo) offset(i int) int64 {
	if i == 0 {
		return o.Offsets[0]
	}
	return o.Offsets[0] + o.Offsets[i]
}

// valid bounds what a file may say.
func (o *orderInfo) valid() bool {
	return len(o.Offsets) > 0 && len(o.Offsets) <= 64 && !slices.ContainsFunc(o.Offsets, func(n int64) bool { return n < 0 })
}

// blockedUntil is when the last of what is not acknowledged can be seen again, 0 when the queue is free. A repeated attempt is not blocked.
func (o *orderInfo) blockedUntil(attempt string, now int64) int64 {
	if o == nil || o.AttemptID != "" && o.AttemptID == attempt {
		return 0
	}
	var until int64
	for i := range o.Offsets {
		if o.Committed&(1<<i) != 0 {
			continue
		}
		visible, ok := o.NextVisible[o.offset(i)]
		if !ok {
			visible = o.PopTime + o.Invisible
		}
		if now < visible {
			until = max(until, visible)
		}
	}
	return until
}

// Outcomes of an ack in order, as Java's numbers.
const (
	orderIllegal = -1
	orderIgnore  = -2
)

// ack sets the bit of an offset and returns the offset that the group has reached.
func (o *orderInfo) ack(offset, popTime int64) int64 {
	if o == nil {
		return offset + 1
	}
	if popTime != o.PopTime {
		return orderIgnore
	}
	at := -1
	for i := range o.Offsets {
		if o.offset(i) == offset {
			at = i
			break
		}
	}
	if at < 0 {
		return orderIllegal
	}
	o.Committed |= 1 << at
	for i := range o.Offsets {
		if o.Committed&(1<<i) == 0 {
			return o.offset(i)
		}
	}
	return o.offset(len(o.Offsets)-1) + 1
}

// newOrder is the state after a pop of offsets, which follows the state before.
func newOrder(before *orderInfo, attempt string, popTime, invisible, now int64, offsets []int64) *orderInfo {
	o := &orderInfo{PopTime: popTime, Invisible: invisible, Offsets: slices.Clone(offsets), LastConsume: now, AttemptID: attempt}
	for i := 1; i < len(o.Offsets); i++ {
		o.Offsets[i] -= o.Offsets[0]
	}
	if before == nil {
		return o
	}
	if before.AttemptID != "" && before.AttemptID == attempt {
		o.Consumed = before.Consumed
		return o
	}
	for i := range before.Offsets {
		if at := before.offset(i); slices.Contains(offsets, at) {
			if o.Consumed == nil {
				o.Consumed = map[int64]int32{}
			}
			o.Consumed[at] = before.Consumed[at] + 1
		}
	}
	return o
}

// appendCounts writes how often the messages were delivered before: for each that was, and for old clients one number for the queue.
func (o *orderInfo) appendCounts(dst []byte, m Mark, queueID int32) []byte {
	lowest := int32(0)
	if len(o.Consumed) == len(o.Offsets) {
		lowest = 1<<31 - 1
	}
	for i := range o.Offsets {
		at := o.offset(i)
		n, ok := o.Consumed[at]
		if !ok {
			continue
		}
		if len(dst) > 0 {
			dst = append(dst, ';')
		}
		dst = append(append(dst, '0'+byte(m)), " qo"...)
		dst = append(strconv.AppendInt(dst, int64(queueID), 10), '%')
		dst = append(strconv.AppendInt(dst, at, 10), ' ')
		dst = strconv.AppendInt(dst, int64(n), 10)
		lowest = min(lowest, n)
	}
	return strconv.AppendInt(appendEntry(dst, m, queueID), int64(lowest), 10)
}

func encodeOrder(o *orderInfo) []byte {
	if o == nil {
		return nil
	}
	b, err := protocol.MarshalFast(o)
	if err != nil {
		return nil
	}
	return b
}

// decodeOrder reads what encodeOrder wrote, nil when it cannot be used.
func decodeOrder(b []byte) *orderInfo {
	var o orderInfo
	if len(b) == 0 || protocol.UnmarshalFast(b, &o) != nil || !o.valid() {
		return nil
	}
	return &o
}
