package broker

import (
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf"
)

// "Keep for ever", as operators write it, is more hours than a time.Duration has: it must not mean "delete everything".
func TestKeepForEver(t *testing.T) {
	if got := limitsOf(&conf.Store{FileReservedTime: 99_999_999}).FileReservedTime; got < 50*365*24*time.Hour {
		t.Errorf("files are kept for %v", got)
	}
}
