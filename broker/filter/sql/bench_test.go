package sql

import (
	"fmt"
	"testing"
)

// BenchmarkMatch evaluates a filter that selects 1 % of the messages.
func BenchmarkMatch(b *testing.B) {
	messages := make([][]byte, 100)
	for i := range messages {
		messages[i] = props("KEYS=order-1234567", "region=south", fmt.Sprintf("price=%d.5", i), "TAGS=even", "UNIQ_KEY=7F0000010A2B18B4AAC2108D5F6E0000", "WAIT=true")
	}
	for _, text := range []string{"price > 99", "region = 'south' AND price BETWEEN 99 AND 100", "(TAGS is not null and TAGS in ('even')) and price > 99 and region <> 'north'"} {
		b.Run(text, func(b *testing.B) {
			e, err := Compile(text)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			selected := 0
			for i := 0; b.Loop(); i++ {
				if e.Match(messages[i%100]) {
					selected++
				}
			}
			b.ReportMetric(100*float64(selected)/float64(b.N), "%selected")
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile("(TAGS is not null and TAGS in ('even')) and a between 2 and 7 and region = 'south'"); err != nil {
			b.Fatal(err)
		}
	}
}
