package sql

import (
	"strconv"
	"strings"
)

// This file makes nodes, with the checks that can be made without a message.

// maxHeight bounds how deep an expression may be nested, which bounds the stack of those who parse and evaluate it.
const maxHeight = 500

// maxLeaves bounds the names and values outside of IN lists, for each costs time with each message, which others wait for.
const maxLeaves = 2000

// leaf counts a name or value.
func (p *parser) leaf(at token) error {
	if p.leaves++; p.leaves > maxLeaves {
		return errorAt(p.lex.text, at.from, "Too many conditions", "the limit is "+strconv.Itoa(maxLeaves)+" names and values; the list of IN may be longer")
	}
	return nil
}

// fail reports a check that failed, at the token that asked for it.
func (p *parser) fail(at token, why string) error {
	return errorAt(p.lex.text, at.from, "Illegal use of "+p.image(at), why)
}

// tree makes an inner node; it refuses one that nests too deep.
func (p *parser) tree(at token, n node) (*node, error) {
	for _, kid := range []*node{n.left, n.right} {
		if kid != nil {
			n.height = max(n.height, kid.height+1)
		}
	}
	if n.height > maxHeight {
		return nil, p.tooDeep(at)
	}
	return &n, nil
}

func (p *parser) tooDeep(at token) error {
	return errorAt(p.lex.text, at.from, "Nested too deep", "the limit is "+strconv.Itoa(maxHeight)+" levels of parentheses, signs and NOTs")
}

// property returns the leaf of a name.
func (p *parser) property(name string) *node {
	slot, ok := p.slots[name]
	if !ok {
		slot = int32(len(p.marks))
		p.marks = append(p.marks, append([]byte(name), afterName))
		p.slots[name] = slot // gone with the parser, as is the text
	}
	return &node{op: opProperty, slot: slot}
}

// number returns the leaf of a number.
func (p *parser) number(t token) (*node, error) {
	text := p.lex.text[t.from:t.to]
	if t.kind == tInt {
		i, err := strconv.ParseInt(strings.TrimRight(text, "lL"), 10, 64)
		if err != nil {
			return nil, p.fail(t, "a whole number is at most 9223372036854775807")
		}
		return &node{op: opNumber, num: wholeNumber(i)}, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return nil, p.fail(t, "the number is too great: at most 1.7976931348623157E308")
	case f == 0:
		return nil, p.fail(t, "a number with a point must be at least 4.9E-324; write 0")
	}
	return &node{op: opNumber, num: number{f: f}}, nil
}

// minus negates a number; of anything else it is NULL, also of a property, which is text.
func (p *parser) minus(n *node) *node {
	if n.op == opNumber {
		return &node{op: opNumber, num: n.num.minus(), negated: true}
	}
	return &node{op: opNothing}
}

// asCondition makes a condition of n.
func (p *parser) asCondition(at token, n *node) (*node, error) {
	switch {
	case n.condition():
		return n, nil
	case n.op == opProperty:
		return p.tree(at, node{op: opCast, left: n})
	}
	return nil, p.fail(at, "a value is no condition: compare it with something")
}

func (p *parser) not(at token, n *node) (*node, error) {
	n, err := p.asCondition(at, n)
	if err != nil {
		return nil, err
	}
	return p.tree(at, node{op: opNot, left: n})
}

// logic makes AND or OR.
func (p *parser) logic(at token, o op, left, right *node) (*node, error) {
	left, err := p.asCondition(at, left)
	if err != nil {
		return nil, err
	}
	if right, err = p.asCondition(at, right); err != nil {
		return nil, err
	}
	return p.tree(at, node{op: o, left: left, right: right})
}

// equal makes =.
func (p *parser) equal(at token, left, right *node) (*node, error) {
	switch {
	case left.op == opNull || right.op == opNull:
		return nil, p.fail(at, "nothing is equal to NULL: write IS NULL or IS NOT NULL")
	case (left.op == opTrue || left.op == opFalse) && right.literal() && !right.condition():
		return nil, p.fail(at, "TRUE and FALSE are never equal to a number or a text")
	}
	return p.tree(at, node{op: opEqual, left: left, right: right})
}

// order makes < <= > >=.
func (p *parser) order(at token, o op, left, right *node) (*node, error) {
	for _, n := range []*node{left, right} {
		switch {
		case n.op == opString:
			return nil, p.fail(at, "only numbers have an order, a text in quotes has none")
		case n.condition():
			return nil, p.fail(at, "only numbers have an order, a condition has none; NOT binds closer than a comparison: use parentheses")
		}
	}
	return p.tree(at, node{op: o, left: left, right: right})
}

// between makes [NOT] BETWEEN.
func (p *parser) between(at token, n, low, high *node, invert bool) (*node, error) {
	first, second, joint := opGreaterEqual, opLessEqual, opAnd
	if invert {
		first, second, joint = opLess, opGreater, opOr
	} else if low.op == opNumber && low.literal() && high.op == opNumber && high.literal() && low.num.compare(high.num) > 0 {
		return nil, p.fail(at, "the first bound is above the second")
	}
	a, err := p.order(at, first, n, low)
	if err != nil {
		return nil, err
	}
	b, err := p.order(at, second, n, high)
	if err != nil {
		return nil, err
	}
	return p.logic(at, joint, a, b)
}

// in makes [NOT] IN.
func (p *parser) in(at token, n *node, list []string, invert bool) (*node, error) {
	if n.op != opProperty {
		return nil, p.fail(at, "the name of a property must be on its left")
	}
	return p.tree(at, node{op: opIn, slot: n.slot, set: makeSet(list), invert: invert})
}
