// Package txn owns transactions: which half messages are open, what ends them, when their producers are asked, and when they are
// given up.
//
// All state is in two topics, laid out as Java's, so that either broker can take over the other's store:
//
//	RMQ_SYS_TRANS_HALF_TOPIC     the half messages, with REAL_TOPIC and REAL_QID
//	RMQ_SYS_TRANS_OP_HALF_TOPIC  marks: "12,15," says that the half messages at queue offsets 12 and 15 are ended
//
// and the progress of both in consumerOffset.json under CID_RMQ_SYS_TRANS, which only saves reading: every half message before it
// is ended. A half message is open from the progress on unless it is marked or was put back.
//
//	half ── END commit ───→ message of the real topic + mark
//	  │ └── END rollback ─→ mark
//	  └─ unanswered ─→ put back at the queue's end with one check more, producer asked ─→ (again)
//	                     └─ after transactionCheckMax checks ─→ TRANS_CHECK_MAX_TIME_TOPIC + mark
//
// The outcome and its mark are one append, the outcome first: a crash may tear the mark off, which repeats a check, but cannot lose
// a message or bring back a rolled back one. Java writes the marks up to 3 s later. Where the disk wrote the mark first and the power failed
// then, recovery finds a hole in front of it: see reopen.
//
// A message that was put back has two offsets or more. All its records name the first one (TRAN_PREPARED_QUEUE_OFFSET, the root), so that
// an outcome for any of them ends the transaction once: the first outcome wins, and a later one stores nothing. The mark names all
// records that a broker could take for open whose progress was not saved. Of two records with one root the newer is the open one, which holds also when a crash lost the progress.
// Records that a Java broker put back name no root unless the message has an immunity time: there a late outcome for an old record
// is refused, and the check of the new one decides.
//
// Concurrency: End may be called by many goroutines. A transaction that is being ended or put back is claimed; who
// wants it meanwhile waits for the append, and nobody waits while holding a claim. One goroutine checks: it sleeps until the
// oldest open half message is due, and without one until a half message comes; nothing polls.
package txn
