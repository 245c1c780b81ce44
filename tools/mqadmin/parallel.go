package mqadmin

import (
	"context"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/sync/errgroup"
)

// fanOut is how many servers or topics a table asks about at a time.
const fanOut = 16

// each calls fn for 0..n-1, fanOut at a time, shows the progress to a person, and returns the first error after all calls have ended.
func (c *call) each(ctx context.Context, what string, n int, fn func(ctx context.Context, i int) error) error {
	p := c.progress(what, n)
	defer p.done()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(fanOut)
	for i := range n {
		g.Go(func() error {
			defer p.add(1)
			return fn(ctx, i)
		})
	}
	return g.Wait()
}

// progress is a bar on stderr, or nothing when no person watches.
type progress struct{ bar *progressbar.ProgressBar }

// progress starts a bar of n steps; n < 0 is a spinner. A table of a few steps is not worth one.
func (c *call) progress(what string, n int) progress {
	if !c.env.Terminal || n >= 0 && n < fanOut {
		return progress{}
	}
	return progress{progressbar.NewOptions(n, progressbar.OptionSetWriter(c.env.Stderr), progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))}
}

func (p progress) add(n int) {
	if p.bar != nil {
		_ = p.bar.Add(n) // a bar that cannot be drawn is no reason to stop
	}
}

func (p progress) done() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
