package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// line is one line of the table. Text of cells is ready for print.
type line struct {
	work                string
	ours, java, limit   string
	overJava, overLimit string
	bar                 string
	met                 verdict
}

// verdict says whether a bar was met.
type verdict int

const (
	noBar verdict = iota
	met
	miss
)

func (v verdict) String() string { return [...]string{"", "yes", "**no**"}[v] }

func judge(ok bool) verdict {
	if ok {
		return met
	}
	return miss
}

// figures are what one load came to. Latencies are in milliseconds.
type figures struct {
	rate, p50, p99 float64
	errors         int64
	refusal        string  // what the first error said
	count          int64   // messages
	cpu            float64 // processor time of the server for one message, µs
}

// column takes one figure of several runs and returns its median.
func column(runs []figures, of func(*figures) float64) float64 {
	var all []float64
	for i := range runs {
		all = append(all, of(&runs[i]))
	}
	return median(all)
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}

func errorsOf(runs []figures) (n int64) {
	for _, r := range runs {
		n += r.errors
	}
	return n
}

func (l *line) cells() []string {
	return []string{l.work, l.ours, l.java, l.limit, l.overJava, l.overLimit, l.bar, l.met.String()}
}

var heads = []string{"work", "ours", "Java", "limit", "ours/Java", "ours/limit", "bar", "met"}

func printHead(w io.Writer) {
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
}

func (l *line) print(w io.Writer) { fmt.Fprintf(w, "| %s |\n", strings.Join(l.cells(), " | ")) }

// perSecond prints a rate with thousands parted.
func perSecond(v float64) string {
	if v == 0 {
		return ""
	}
	s := strconv.FormatInt(int64(v), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s + "/s"
}

func millis(v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.3g ms", v)
}

func megabytes(v int64) string { return fmt.Sprintf("%.0f MB", float64(v)/(1<<20)) }

func ratio(a, b float64) string {
	if a == 0 || b == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", a/b)
}
