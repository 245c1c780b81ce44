package inspect

import (
	"encoding/binary"
	"strconv"

	"github.com/seedmq/seedmq/store/checkpoint"
	"github.com/seedmq/seedmq/store/configfile"
)

const maxSmall = 256 << 20

// small prints files that are read whole.
func small(p *printer, in input, kind Kind) error {
	b := make([]byte, min(in.size, maxSmall))
	if err := in.read(b, 0); err != nil {
		return err
	}
	switch kind {
	case CheckpointFile:
		checkpointFile(p, b)
	case TimerCheckFile:
		timerCheck(p, b)
	case TableFile:
		table(p, b)
	default:
		p.line("%q", b)
	}
	return nil
}

func checkpointFile(p *printer, b []byte) {
	v, err := checkpoint.Decode(b)
	if err != nil {
		p.line("DAMAGED: %v", err)
		return
	}
	p.line("log synced up to the message stored %s (physicMsgTimestamp %d)", p.time(v.PhysicMsgTimestamp), v.PhysicMsgTimestamp)
	p.line("queues synced up to the message stored %s (logicsMsgTimestamp %d)", p.time(v.LogicsMsgTimestamp), v.LogicsMsgTimestamp)
	p.line("queues synced up to position %d (logicsPhyOffset)", v.LogicsPhyOffset)
	p.line("full index files synced up to the message stored %s (indexMsgTimestamp %d)", p.time(v.IndexMsgTimestamp), v.IndexMsgTimestamp)
	p.line("master flushed up to position %d (masterFlushedOffset)", v.MasterFlushedOffset)
	p.line("confirmed up to position %d (confirmPhyOffset)", v.ConfirmPhyOffset)
}

// table prints a JSON table as strict, indented JSON.
func table(p *printer, b []byte) {
	if len(b) == 0 {
		p.line("empty: the table's .bak counts")
		return
	}
	var v map[string]any
	if err := configfile.Decode(b, &v); err != nil {
		p.line("DAMAGED: %v", err)
		return
	}
	text, err := configfile.Encode(v)
	if err != nil {
		p.line("DAMAGED: %v", err)
		return
	}
	p.line("%s", text)
}

// timerCheckFields are the longs of config/timercheck.
var timerCheckFields = []string{"lastReadTimeMs", "lastTimerLogFlushPos", "lastTimerQueueOffset", "masterTimerQueueOffset",
	"dataVersion.stateVersion", "dataVersion.timestamp", "dataVersion.counter"}

func timerCheck(p *printer, b []byte) {
	for i, name := range timerCheckFields {
		if len(b) < 8*i+8 {
			p.line("%s: missing", name)
			continue
		}
		n := int64(binary.BigEndian.Uint64(b[8*i:]))
		if name == "lastReadTimeMs" || name == "dataVersion.timestamp" {
			p.line("%s: %d (%s)", name, n, p.time(n))
		} else {
			p.line("%s: %d", name, n)
		}
	}
}

// tagsCode is a tags code, and as a time if it can be one: the queues of delayed messages keep times.
func (p *printer) tagsCode(code int64) string {
	s := strconv.FormatInt(code, 10)
	if code > 1<<40 {
		s += " (" + p.time(code) + ")"
	}
	return s
}
