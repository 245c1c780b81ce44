//go:build peers

package e2e

import "testing"

// TestGoOrderFrozen: a Go member stands still until its locks are another's, and then goes on. TestJavaOrder has the same for Java.
func TestGoOrderFrozen(t *testing.T) { orderThroughFreeze(t, "go") }
