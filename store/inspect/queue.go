package inspect

import (
	"github.com/seedmq/seedmq/store/consumequeue"
)

const unitsAtOnce = 3000

// consumeQueue prints the units of one consume queue file.
func consumeQueue(p *printer, in input) error {
	first := in.start / consumequeue.UnitSize
	units := in.size / consumequeue.UnitSize
	if in.size%consumequeue.UnitSize != 0 || in.start%consumequeue.UnitSize != 0 {
		p.line("DAMAGED: length or name are no multiple of %d", consumequeue.UnitSize)
	}
	var good, blank, bad int64
	ended := int64(-1)
	phys := int64(0)
	buf := make([]byte, unitsAtOnce*consumequeue.UnitSize)
	for n := int64(0); n < units; n += unitsAtOnce {
		part := buf[:min(units-n, unitsAtOnce)*consumequeue.UnitSize]
		if err := in.read(part, n*consumequeue.UnitSize); err != nil {
			return err
		}
		for off := 0; off < len(part); off += consumequeue.UnitSize {
			u := consumequeue.Decode(part[off:])
			at := first + n + int64(off/consumequeue.UnitSize)
			switch {
			case u == consumequeue.Unit{}:
				if ended < 0 {
					ended = at
				}
			case u.Blank():
				blank++
			case !u.Valid() || ended >= 0 || u.PhysicalOffset < phys:
				bad++
				p.item(at, "%d: DAMAGED: position %d, %d bytes, tags code %d", at, u.PhysicalOffset, u.Size, u.TagsCode)
			default:
				good++
				phys = u.PhysicalOffset + int64(u.Size)
				p.item(at, "%d: position %d, %d bytes, tags code %s", at, u.PhysicalOffset, u.Size, p.tagsCode(u.TagsCode))
			}
		}
	}
	if ended >= 0 {
		p.line("ends at %d", ended)
	}
	p.line("%d units, %d blank ones, %d damaged ones", good, blank, bad)
	return nil
}
