package broker

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/seedmq/seedmq/broker/filter"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// Replies to pulls of topics with queue.type=BatchCQ, and of light queues.
//
// A record of the former holds a batch, which Java's clients take apart since 5.0. For all others, and where the batch begins
// before the offset asked for or has messages that an SQL92 filter refuses, it is taken apart here.
// The records of light queues are those of other topics. Java sends them with the queue offset that they have there, by which
// its consumers then count; here they get that of the light queue.

// rewrite makes of the records behind from in buf what the client understands, and drops what it does not want.
func (p *puller) rewrite(q *pull, buf *remoting.BodyBuffer, from int, res *store.GetResult) {
	var v protocol.MessageView
	var out []byte
	count := 0
	for rest := buf.Buf[from:]; len(rest) > 0; {
		n, err := protocol.DecodeMessage(rest, &v)
		if err != nil {
			return // as it was: the client will say what is wrong
		}
		switch {
		case q.topic.Light:
			setLightOffset(rest[:n], &v, q.topic.Name())
			count++
		case store.IsInnerBatch(v.SysFlag) && (q.unwrap || v.QueueOffset < q.offset):
			if out == nil {
				out = append(make([]byte, 0, 2*len(buf.Buf[from:])), buf.Buf[from:len(buf.Buf)-len(rest)]...)
			}
			var added int
			out, added = appendInner(out, q, &v)
			count += added
			rest = rest[n:]
			continue
		}
		if out != nil {
			out = append(out, rest[:n]...)
		}
		if !q.topic.Light {
			count += innerCount(&v)
		}
		rest = rest[n:]
	}
	if out != nil {
		buf.Buf = append(buf.Buf[:from], out...)
		res.Count, res.Bytes = count, len(out)
	}
}

// appendInner appends the messages of a batch that are wanted.
func appendInner(dst []byte, q *pull, v *protocol.MessageView) ([]byte, int) {
	n := 0
	err := store.EachInner(v, func(m *protocol.BatchEntry, i int) bool {
		if v.QueueOffset+int64(i) < q.offset {
			return true
		}
		at := len(dst)
		dst = store.AppendInner(dst, v, m, i)
		if q.filter != nil && !matchInner(q.filter, m, dst[at:]) {
			dst = dst[:at]
			return true
		}
		n++
		return true
	})
	_ = err // the store counted them when it took the batch; what cannot be read ends it
	return dst, n
}

func matchInner(f store.Filter, m *protocol.BatchEntry, rec []byte) bool {
	code := int64(0)
	if tags, _ := protocol.Property(m.Properties, protocol.PropertyTags); tags != "" {
		code = protocol.TagsCode(tags)
	}
	return f.MatchTagsCode(code) && f.MatchRecord(rec)
}

// innerCount is the number of messages of a record.
func innerCount(v *protocol.MessageView) int {
	if store.IsInnerBatch(v.SysFlag) {
		if n, err := protocol.CountBatch(v.Body); err == nil {
			return n
		}
	}
	return 1
}

// setLightOffset gives a record of a light queue the queue id and offset that it has there. A message that was sent to the light
// queue itself has it.
func setLightOffset(rec []byte, v *protocol.MessageView, queue string) {
	names, _ := v.Property(protocol.PropertyInnerMultiDispatch)
	offsets, _ := v.Property(protocol.PropertyInnerMultiQueueOffset)
	i := slices.Index(strings.Split(names, protocol.MultiDispatchSeparator), queue)
	numbers := strings.Split(offsets, protocol.MultiDispatchSeparator)
	if i < 0 || i >= len(numbers) {
		return
	}
	if n, err := strconv.ParseInt(numbers[i], 10, 64); err == nil {
		binary.BigEndian.PutUint64(rec[protocol.PosQueueOffset:], uint64(n))
		binary.BigEndian.PutUint32(rec[protocol.PosQueueID:], 0)
	}
}

// isSQL says that clients do not filter again.
func isSQL(f store.Filter) bool {
	_, ok := f.(*filter.SQL)
	return ok
}

// takesApart says whether a client takes batches apart by itself.
func takesApart(req *protocol.Command) bool {
	return req.Language == protocol.LanguageJava && req.Version >= protocol.VersionV5_0_0
}
