package modeltest

import (
	"fmt"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
)

const (
	commit   = protocol.SysFlagTransactionCommit
	rollback = protocol.SysFlagTransactionRollback
)

// endOne ends a transaction, or tries to turn the outcome of one that was ended.
func (w *world) endOne() error {
	if len(w.txs) == 0 {
		return nil
	}
	x := w.txs[max(0, len(w.txs)-1-w.rng.IntN(6))]
	if !x.stored {
		return nil
	}
	if x.accepted && !x.lost && w.rng.IntN(3) == 0 {
		return w.turn(x)
	}
	return w.end(x, false)
}

// end says the producer's outcome, which it never changes.
func (w *world) end(x *tx, asked bool) error {
	if x.outcome == 0 {
		x.outcome = commit
		if w.rng.IntN(2) == 0 {
			x.outcome = rollback
		}
	}
	again := x.tried // a broker that was started anew knows that it has ended, not how
	x.tried = true
	if x.outcome == commit {
		x.never = ""
	}
	at := x.records[w.rng.IntN(len(x.records))]
	w.note("end %s: %d, half message %v", x.name, x.outcome, at)
	r, err := w.call(w.producer, protocol.ReqEndTransaction, endOf(at, x.outcome, asked), nil)
	switch {
	case err != nil:
		return err
	case r.Code == protocol.RespSuccess:
		x.accepted, x.lost = true, false
		x.sure = x.outcome == commit && !x.purged
		return nil
	case w.killed.Load():
		return errDead
	}
	given, err := w.givenUp()
	if err != nil {
		return err
	}
	if given[x.name] || again || strings.Contains(r.Remark, "given up") { // at the end it must be among those
		return nil
	}
	return wrong{fmt.Errorf("end of %s: code %d %s", x.name, r.Code, r.Remark)}
}

func endOf(at halfRecord, outcome int32, asked bool) *protocol.EndTransactionRequestHeader {
	return &protocol.EndTransactionRequestHeader{ProducerGroup: producerGroup, TranStateTableOffset: at.queue, CommitLogOffset: at.log, CommitOrRollback: outcome,
		FromTransactionCheck: protocol.Some(asked)}
}

// turn says the other outcome, which must be refused.
func (w *world) turn(x *tx) error {
	w.note("end %s the other way", x.name)
	r, err := w.call(w.producer, protocol.ReqEndTransaction, endOf(x.records[0], commit+rollback-x.outcome, false), nil)
	if err == nil && r.Code == protocol.RespSuccess {
		return wrong{fmt.Errorf("%s was ended with %d, and then with the other outcome", x.name, x.outcome)}
	}
	return err
}

// answerChecks answers what the producer was asked; now and then it does not know.
func (w *world) answerChecks(all bool) error {
	for _, p := range w.producer.takePushed() {
		if p.Code != protocol.ReqCheckTransactionState {
			continue
		}
		var h protocol.CheckTransactionStateRequestHeader
		if err := h.DecodeExt(p.Ext); err != nil {
			return err
		}
		var x *tx
		for _, known := range w.txs {
			if "U"+known.name == h.MsgID {
				x = known
			}
		}
		if x == nil {
			return wrong{fmt.Errorf("a check of %s, which nobody sent", h.MsgID)}
		}
		x.records = append(x.records, halfRecord{h.TranStateTableOffset, h.CommitLogOffset})
		if x.stored = true; x.outcome == 0 && w.rng.IntN(3) == 0 && !all {
			continue // it does not know yet
		}
		if x.outcome == 0 && all {
			continue // it will never know
		}
		if err := w.end(x, true); err != nil {
			return err
		}
	}
	return nil
}
