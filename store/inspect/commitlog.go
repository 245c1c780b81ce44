package inspect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
)

const (
	recordsAtOnce = 1 << 20
	maxRecord     = 128 << 20 // beyond any record that a broker accepts
)

// commitLog prints the records of one log file.
func commitLog(p *printer, in input) error {
	var good, bad, badBytes int64
	buf := make([]byte, recordsAtOnce)
	for at := int64(0); at < in.size; {
		n := min(int64(len(buf)), in.size-at)
		if err := in.read(buf[:n], at); err != nil {
			return err
		}
		used, more, err := records(p, in.start+at, buf[:n], at+n == in.size, &good)
		if err != nil {
			return err
		}
		at += int64(used)
		switch {
		case more > len(buf):
			buf = make([]byte, more)
		case used == 0 || more < 0:
			size, err := skipBad(p, in, at, buf)
			if err != nil {
				return err
			}
			if size < 0 {
				p.line("empty from %d on: %d bytes", in.start+at, in.size-at)
				at = in.size
				break
			}
			bad, badBytes = bad+1, badBytes+size
			at += size
		}
	}
	p.line("%d records, %d damaged places with %d bytes", good, bad, badBytes)
	return nil
}

// records prints the records that b begins with. used is their length; more is the size of a record that b has not all
// of, 0 if b is used up, -1 if what follows is none.
func records(p *printer, at int64, b []byte, last bool, good *int64) (used, more int, err error) {
	var v protocol.MessageView
	for used < len(b) {
		rest := b[used:]
		size, err := protocol.DecodeMessage(rest, &v)
		switch {
		case err == nil:
			*good++
			record(p, at+int64(used), &v)
		case errors.Is(err, protocol.ErrBlankRecord) && (size <= len(rest) || last):
			p.item(at+int64(used), "%d: end of file, %d bytes of padding", at+int64(used), size)
			size = min(size, len(rest))
			if last {
				size = len(rest)
			}
		case !last && len(rest) < protocol.BlankRecordSize:
			return used, 0, nil
		case !last && plausible(rest) > len(rest):
			return used, plausible(rest), nil
		default:
			return used, -1, nil
		}
		used += size
	}
	return used, 0, nil
}

// plausible is the size of the record that b begins with, if it can be one, else 0.
func plausible(b []byte) int {
	size, magic := int32(binary.BigEndian.Uint32(b)), int32(binary.BigEndian.Uint32(b[protocol.PosMagic:]))
	if magic != protocol.MagicV1 && magic != protocol.MagicV2 && magic != protocol.MagicBlank || size < 0 || size > maxRecord {
		return 0
	}
	return int(size)
}

// skipBad prints what is wrong at at and returns how many bytes lie before the next record, -1 if only zeros follow.
func skipBad(p *printer, in input, at int64, buf []byte) (int64, error) {
	zeros := true
	for off := at; off < in.size; {
		n := min(int64(len(buf)), in.size-off)
		if err := in.read(buf[:n], off); err != nil {
			return 0, err
		}
		for i := range int(n) {
			zeros = zeros && buf[i] == 0
			if off+int64(i) > at && i+protocol.BlankRecordSize <= int(n) && plausible(buf[i:]) >= protocol.BlankRecordSize {
				p.item(in.start+at, "%d: DAMAGED, %d bytes up to what looks like a record", in.start+at, off+int64(i)-at)
				return off + int64(i) - at, nil
			}
		}
		off += max(n-protocol.BlankRecordSize+1, 1)
	}
	if zeros {
		return -1, nil
	}
	p.item(in.start+at, "%d: DAMAGED, %d bytes up to the end of the file", in.start+at, in.size-at)
	return in.size - at, nil
}

func record(p *printer, at int64, v *protocol.MessageView) {
	var notes []string
	if v.PhysicalOffset != at {
		notes = append(notes, fmt.Sprintf("WRONG POSITION %d", v.PhysicalOffset))
	}
	if err := v.CheckBody(); err != nil {
		notes = append(notes, "BAD BODY: "+err.Error())
	}
	p.item(at, "%d: %d bytes, %s/%d offset %d, stored %s at %s, born %s at %s, %s%s", at, v.Size, v.Topic, v.QueueID, v.QueueOffset,
		p.time(v.StoreTimestamp), v.StoreHost, p.time(v.BornTimestamp), v.BornHost, properties(v), strings.Join(notes, ", "))
	if p.o.Bodies {
		p.item(at, "    body %d bytes: %q", len(v.Body), v.Body)
	}
}

func properties(v *protocol.MessageView) string {
	var b strings.Builder
	fmt.Fprintf(&b, "flag %d sysFlag %#x retried %d", v.Flag, v.SysFlag, v.ReconsumeTimes)
	if v.PreparedTransactionOffset != 0 {
		fmt.Fprintf(&b, " prepared %d", v.PreparedTransactionOffset)
	}
	protocol.EachProperty(v.Properties, func(name, value string) bool {
		fmt.Fprintf(&b, " %s=%q", name, value)
		return true
	})
	b.WriteString(" ")
	return b.String()
}
