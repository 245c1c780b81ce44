package inspect

import (
	"github.com/seedmq/seedmq/store/consumequeue"
)

// batchQueue prints the units of one batch consume queue file. What is asked for from a number on are queue offsets.
func batchQueue(p *printer, in input) error {
	units := in.size / consumequeue.BatchUnitSize
	if in.size%consumequeue.BatchUnitSize != 0 || in.start%consumequeue.BatchUnitSize != 0 {
		p.line("DAMAGED: length or name are no multiple of %d", consumequeue.BatchUnitSize)
	}
	var good, messages, bad, phys, next int64
	ended := false
	buf := make([]byte, unitsAtOnce*consumequeue.BatchUnitSize)
	for n := int64(0); n < units; n += unitsAtOnce {
		part := buf[:min(units-n, unitsAtOnce)*consumequeue.BatchUnitSize]
		if err := in.read(part, n*consumequeue.BatchUnitSize); err != nil {
			return err
		}
		for off := 0; off < len(part); off += consumequeue.BatchUnitSize {
			switch u := consumequeue.DecodeBatch(part[off:]); {
			case u == consumequeue.BatchUnit{}:
				ended = true
			case !u.Valid() || ended || u.PhysicalOffset < phys || u.Base < next:
				bad++
				p.item(u.Base, "%d: DAMAGED: position %d, %d bytes, %d messages, tags code %d, stored %d", u.Base, u.PhysicalOffset, u.Size, u.Count, u.TagsCode, u.StoreTimestamp)
			default:
				good, messages = good+1, messages+int64(u.Count)
				phys, next = u.PhysicalOffset+int64(u.Size), u.Next()
				p.item(u.Base, "%d to %d: position %d, %d bytes, tags code %s, stored %s%s", u.Base, u.Next()-1, u.PhysicalOffset, u.Size,
					p.tagsCode(u.TagsCode), p.time(u.StoreTimestamp), compacted(u))
			}
		}
	}
	if ended && good > 0 {
		p.line("ends at %d", next)
	}
	p.line("%d units with %d messages, %d damaged ones", good, messages, bad)
	return nil
}

func compacted(u consumequeue.BatchUnit) string {
	if u.Compacted < 0 {
		return ""
	}
	return ", compacted"
}
