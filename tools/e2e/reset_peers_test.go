//go:build peers

package e2e

import (
	"testing"

	"github.com/seedmq/seedmq/tools/harness"
)

func TestJavaResetIsFollowed(t *testing.T) {
	for _, release := range []string{harness.Java5, harness.Java4} {
		t.Run(release+"/concurrent", func(t *testing.T) { resetIsFollowed(t, release, "push") })
		t.Run(release+"/orderly", func(t *testing.T) { resetIsFollowed(t, release, "orderly") })
	}
}

func TestJavaResetOfTwoBrokers(t *testing.T) {
	for _, release := range []string{harness.Java5, harness.Java4} {
		t.Run(release, func(t *testing.T) { resetOfTwoBrokers(t, release) })
	}
}
