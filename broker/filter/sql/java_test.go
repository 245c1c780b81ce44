package sql

import (
	"bufio"
	"compress/gzip"
	"errors"
	"os"
	"strings"
	"testing"
)

// TestJava compares with what the evaluator of Apache RocketMQ 5.5.0 says of random expressions and of random words
// (testdata/java.tsv.gz: the outcome, then the expression and properties, 0x03 between them). Where it throws, which delivers nothing, we
// may say anything; and it does not look at what stands behind a complete expression, which is refused here.
func TestJava(t *testing.T) {
	f, err := os.Open("testdata/java.tsv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	same := map[string]int{}
	for lines := bufio.NewScanner(z); lines.Scan(); {
		java, rest, _ := strings.Cut(lines.Text(), "\t")
		words := strings.Split(strings.TrimSuffix(rest, "\x03"), "\x03")
		got := evaluate(words[0], words[1:]...)
		if _, err := Compile(words[0]); err != nil {
			var e *Error
			if java != "REFUSED" && errors.As(err, &e) && behind(words[0], e) {
				continue
			}
			got = "REFUSED"
		}
		if got != java && java != "THROWS" {
			t.Errorf("%s with %q: %s, Java says %s", words[0], words[1:], got, java)
		}
		same[java]++
	}
	if same["TRUE"] < 1500 || same["FALSE"] < 1500 || same["NULL"] < 1000 || same["REFUSED"] < 1500 {
		t.Errorf("little was compared: %v", same)
	}
}

// behind says whether an expression is only refused for what stands behind a complete one.
func behind(text string, e *Error) bool {
	_, err := Compile(text[:e.Column-1]) // all of it is ASCII, in one line
	return err == nil
}
