// Package lint holds no code: its tests check rules that the compiler does not know, over all Go files of the module. Each
// message names the replacement. A deliberate exception is one line in a table here, with its reason.
package lint
