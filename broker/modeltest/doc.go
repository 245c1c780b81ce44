// Package modeltest has one test: a broker on a file system in memory and a clock that a test moves, driven by random requests,
// killed and started again, and compared with a simple model after each step (TestModel).
//
// A run is made by its seed: what is asked, when time passes, and where the broker dies. The broker's own goroutines are the one thing that a
// seed does not decide, so that a seed that failed may have to be repeated a few times. The model therefore waits for what has to come, and
// refuses at once what must never come.
//
//	go test ./broker/modeltest                                 a short run with new seeds, and the seeds of testdata/seeds
//	SEEDMQ_MODEL_SECONDS=60 go test ./broker/modeltest         as long as that
//	SEEDMQ_MODEL_SEED=123 go test -v ./broker/modeltest        that seed only, with all that was done
//
// Seeds that found a fault are kept in testdata/seeds, one in a line, with what they found. A change of the script makes other runs of them, and the
// broker's goroutines another order; so what a seed found gets a test of its own in its package, too.
//
// Concurrency: a run is one goroutine; runs share nothing.
package modeltest
