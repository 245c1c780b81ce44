package sql

import (
	"bytes"
	"strings"
)

type op uint8

const (
	// Values.
	opString   op = iota // text
	opNumber             // num
	opProperty           // slot
	opNothing            // NULL that is no literal: the minus of what is no number

	// Conditions; what follows opNothing has three values.
	opTrue
	opFalse
	opNull
	opCast         // a property as a condition: FALSE when it is there, for its value is text
	opNot          // left
	opAnd          // left, right
	opOr           // left, right
	opEqual        // left, right
	opIsNull       // left
	opLess         // left, right
	opLessEqual    // left, right
	opGreater      // left, right
	opGreaterEqual // left, right
	opIn           // slot, set
	opContains     // left, text
	opStartsWith   // left, text
	opEndsWith     // left, text
)

// node is a part of a compiled expression.
type node struct {
	op          op
	negated     bool // opNumber: made by a minus; in static checks it is no literal then
	invert      bool // opIn, opContains, opStartsWith, opEndsWith: the NOT form
	slot        int32
	height      int32 // of the tree below; 1 for a leaf
	left, right *node
	num         number
	text        []byte
	set         set
}

// condition says whether the node has a truth value by itself.
func (n *node) condition() bool { return n.op > opNothing }

// literal says whether the node was written as a value.
func (n *node) literal() bool {
	switch n.op {
	case opNumber:
		return !n.negated
	case opString, opTrue, opFalse, opNull:
		return true
	}
	return false
}

// set is the list of IN: a slice when it is short, a map when it is long.
type set struct {
	few  [][]byte
	many map[string]struct{}
}

const fewInSet = 8

func makeSet(list []string) set {
	if len(list) <= fewInSet {
		s := set{}
		for _, x := range list {
			s.few = append(s.few, []byte(x))
		}
		return s
	}
	s := set{many: make(map[string]struct{}, len(list))}
	for _, x := range list {
		s.many[strings.Clone(x)] = struct{}{}
	}
	return s
}

func (s *set) has(x []byte) bool {
	if s.many != nil {
		_, ok := s.many[string(x)]
		return ok
	}
	for _, y := range s.few {
		if bytes.Equal(x, y) {
			return true
		}
	}
	return false
}
