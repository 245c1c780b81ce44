package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/olekukonko/tablewriter"
)

// Result is what a run came to. Durations are in milliseconds.
type Result struct {
	Mode     string  `json:"mode"`
	Topics   int     `json:"topics"`
	Groups   int     `json:"groups"`
	Conns    int     `json:"conns"`
	Window   int     `json:"window"`
	Size     int     `json:"size"`
	Batch    int     `json:"batch"`
	Messages int64   `json:"messages"`
	Seconds  float64 `json:"seconds"`
	Rate     float64 `json:"rate"` // messages a second
	MBPerSec float64 `json:"mbPerSecond"`
	P50      float64 `json:"p50Ms"`
	P99      float64 `json:"p99Ms"`
	P999     float64 `json:"p999Ms"`
	Max      float64 `json:"maxMs"`
	Errors   []Fault `json:"errors"`
}

// Fault is one kind of error.
type Fault struct {
	Code  int32  `json:"code"` // the broker's response code; -1 for what happened on this side
	Kind  string `json:"kind,omitempty"`
	Count int64  `json:"count"`
	First string `json:"first"` // what the first one said
}

// Failed reports whether anything went wrong, or nothing happened at all.
func (r *Result) Failed() bool { return len(r.Errors) > 0 || r.Messages == 0 }

func (r *run) result(end time.Time) *Result {
	base := r.base.Load()
	if base == nil { // the run ended in its warm-up: better all of it than nothing
		base = &snapshot{at: r.started}
	}
	d, seconds := r.meter.snapshot(end).since(base)
	out := &Result{Mode: r.cfg.Mode, Topics: r.cfg.Topics, Groups: r.cfg.Groups, Conns: r.cfg.Conns, Window: r.cfg.Window, Size: r.cfg.Size,
		Batch: r.cfg.Batch, Messages: d.messages, Seconds: seconds, Rate: float64(d.messages) / seconds, MBPerSec: float64(d.bytes) / seconds / 1e6,
		P50: ms(d.latency.quantile(.5)), P99: ms(d.latency.quantile(.99)), P999: ms(d.latency.quantile(.999)), Max: ms(time.Duration(d.latency.max))}
	r.meter.errors.Lock()
	defer r.meter.errors.Unlock()
	for k, e := range r.meter.errors.byCode {
		out.Errors = append(out.Errors, Fault{Code: k.code, Kind: k.text, Count: e.n, First: e.first})
	}
	slices.SortFunc(out.Errors, func(a, b Fault) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Code, b.Code)) })
	return out
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

func intervalLine(at time.Duration, before, now *snapshot, warm bool) string {
	d, seconds := now.since(before)
	note := ""
	if warm {
		note = "  (warm-up)"
	}
	return fmt.Sprintf("%7.1fs  %10.0f msg/s  %8.1f MB/s  p50 %8.3f ms  p99 %8.3f ms  p99.9 %8.3f ms  errors %d%s", at.Seconds(),
		float64(d.messages)/seconds, float64(d.bytes)/seconds/1e6, ms(d.latency.quantile(.5)), ms(d.latency.quantile(.99)), ms(d.latency.quantile(.999)), d.errors, note)
}

// WriteText prints the final table, and one line for each kind of error.
func (r *Result) WriteText(w io.Writer) {
	t := tablewriter.NewWriter(w)
	t.SetAutoFormatHeaders(false)
	t.SetHeader([]string{"mode", "messages", "secs", "msg/s", "MB/s", "p50 ms", "p99 ms", "p99.9 ms", "max ms", "errors"})
	t.SetBorder(false)
	t.SetAlignment(tablewriter.ALIGN_RIGHT)
	var errors int64
	for _, f := range r.Errors {
		errors += f.Count
	}
	t.Append([]string{r.Mode, fmt.Sprint(r.Messages), fmt.Sprintf("%.2f", r.Seconds), fmt.Sprintf("%.0f", r.Rate), fmt.Sprintf("%.1f", r.MBPerSec),
		fmt.Sprintf("%.3f", r.P50), fmt.Sprintf("%.3f", r.P99), fmt.Sprintf("%.3f", r.P999), fmt.Sprintf("%.3f", r.Max), fmt.Sprint(errors)})
	t.Render()
	for _, f := range r.Errors {
		if f.Code >= 0 {
			fmt.Fprintf(w, "errors: %d with code %d, the first: %s\n", f.Count, f.Code, f.First)
		} else {
			fmt.Fprintf(w, "errors: %d %s: %s\n", f.Count, f.Kind, f.First)
		}
	}
	fmt.Fprintf(w, "topics=%d groups=%d conns=%d window=%d size=%d batch=%d\n", r.Topics, r.Groups, r.Conns, r.Window, r.Size, r.Batch)
}

// WriteJSON prints the result as one line of JSON.
func (r *Result) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }
