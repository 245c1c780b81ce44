package sql

import (
	"bytes"
	"cmp"
)

// tri is a truth value.
type tri uint8

const (
	unknown tri = iota // NULL
	no
	yes
)

func truth(b bool) tri {
	if b {
		return yes
	}
	return no
}

func (t tri) not() tri {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}
	return unknown
}

// class says what a value is.
type class uint8

const (
	isNull class = iota
	isText
	isNumber
	isBool
)

// value is what a node is for one message.
type value struct {
	class class
	truth tri
	num   number
	text  []byte
}

// Match says whether the expression is TRUE for the encoded properties of a message: name 0x01 value 0x02 ...
func (e *Expr) Match(props []byte) bool {
	m := message{expr: e, props: props}
	return m.condition(e.root) == yes
}

// keptSlots is how many properties of an expression are looked up once per message; further ones each time they are needed.
const keptSlots = 8

// message is a message that is looked at.
type message struct {
	expr  *Expr
	props []byte
	known uint8 // bit: the slot was looked up
	kept  [keptSlots]struct{ from, to int32 }
}

// property is the text of a property, nil when it is missing or empty.
func (m *message) property(slot int32) []byte {
	if slot >= keptSlots {
		from, to := find(m.props, m.expr.marks[slot])
		return m.text(from, to)
	}
	k := &m.kept[slot]
	if bit := uint8(1) << slot; m.known&bit == 0 {
		m.known |= bit
		from, to := find(m.props, m.expr.marks[slot])
		k.from, k.to = int32(from), int32(to)
	}
	return m.text(int(k.from), int(k.to))
}

func (m *message) text(from, to int) []byte {
	if from == to {
		return nil
	}
	return m.props[from:to]
}

// Separators of the property string.
const (
	afterName  = 1
	afterValue = 2
)

// find looks for the property whose name and separator are mark, and returns where its value is, which is empty when there is none; the
// last of several that have a value counts, as in Java's map.
func find(props, mark []byte) (from, to int) {
	for at := 0; ; {
		i := bytes.Index(props[at:], mark)
		if i < 0 {
			return from, to
		}
		begin := at + i
		value := begin + len(mark)
		if begin > 0 && props[begin-1] != afterValue { // the end of a longer name, or in a value
			at = begin + 1
			continue
		}
		end := bytes.IndexByte(props[value:], afterValue)
		if end < 0 {
			end = len(props) - value
		}
		if end > 0 {
			from, to = value, value+end
		}
		at = value + end
	}
}

// condition evaluates a node that has a truth value.
func (m *message) condition(n *node) tri {
	switch n.op {
	case opTrue:
		return yes
	case opFalse:
		return no
	case opCast:
		if m.property(n.left.slot) == nil {
			return unknown
		}
		return no
	case opNot:
		return m.condition(n.left).not()
	case opAnd:
		return m.and(n)
	case opOr:
		return m.or(n)
	case opEqual:
		return m.equal(n)
	case opIsNull:
		v := m.value(n.left)
		return truth(v.class == isNull)
	case opLess, opLessEqual, opGreater, opGreaterEqual:
		return m.order(n)
	case opIn:
		text := m.property(n.slot)
		if text == nil {
			return unknown
		}
		return truth(n.set.has(text) != n.invert)
	case opContains, opStartsWith, opEndsWith:
		return m.search(n)
	}
	return unknown
}

func (m *message) and(n *node) tri {
	left := m.condition(n.left)
	if left == no {
		return no
	}
	if right := m.condition(n.right); right != yes {
		return right
	}
	return left
}

func (m *message) or(n *node) tri {
	left := m.condition(n.left)
	if left == yes {
		return yes
	}
	if right := m.condition(n.right); right != no {
		return right
	}
	return left
}

// value evaluates any node.
func (m *message) value(n *node) value {
	switch n.op {
	case opString:
		return value{class: isText, text: n.text}
	case opNumber:
		return value{class: isNumber, num: n.num}
	case opProperty:
		if text := m.property(n.slot); text != nil {
			return value{class: isText, text: text}
		}
		return value{}
	case opNothing:
		return value{}
	}
	if t := m.condition(n); t != unknown {
		return value{class: isBool, truth: t}
	}
	return value{}
}

// equal evaluates =. Two that are both missing are equal, as in Java.
func (m *message) equal(n *node) tri {
	if n.left.op == opProperty && n.right.op == opString {
		text := m.property(n.left.slot)
		if text == nil {
			return unknown
		}
		return truth(bytes.Equal(text, n.right.text))
	}
	a, b := m.value(n.left), m.value(n.right)
	switch {
	case a.class == isNull:
		if b.class == isNull {
			return yes
		}
		return unknown
	case b.class == isNull:
		return no
	case a.class == isText && b.class == isText:
		return truth(bytes.Equal(a.text, b.text))
	case a.class == isBool || b.class == isBool:
		if a.class == isNumber || b.class == isNumber {
			return no
		}
		return truth(a.bool() == b.bool())
	}
	c, ok := compare(&a, &b)
	if !ok {
		return unknown
	}
	return truth(c == 0)
}

// bool is the truth value of a condition or of a text.
func (v *value) bool() bool {
	if v.class == isBool {
		return v.truth == yes
	}
	return bytes.EqualFold(v.text, trueText)
}

var trueText = []byte("true")

// order evaluates < <= > >=.
func (m *message) order(n *node) tri {
	if n.left.op == opProperty && n.right.op == opNumber {
		return m.orderNumber(n)
	}
	a := m.value(n.left)
	if a.class == isNull {
		return unknown
	}
	b := m.value(n.right)
	if b.class == isNull {
		return unknown
	}
	c, ok := compare(&a, &b)
	if !ok {
		return unknown
	}
	return n.op.holds(c)
}

// orderNumber compares a property with a number, which is what nearly all expressions do.
func (m *message) orderNumber(n *node) tri {
	text, num := m.property(n.left.slot), &n.right.num
	if text == nil {
		return unknown
	}
	if i, ok := parseWhole(text); ok && num.whole {
		return n.op.holds(cmp.Compare(i, num.i))
	}
	x, ok := parseNumber(text)
	if !ok {
		return unknown
	}
	return n.op.holds(x.compare(*num))
}

// holds says whether a comparison with the result c is true.
func (o op) holds(c int) tri {
	switch o {
	case opLess:
		return truth(c < 0)
	case opLessEqual:
		return truth(c <= 0)
	case opGreater:
		return truth(c > 0)
	}
	return truth(c >= 0)
}

// compare compares two values as numbers; false when one is none.
func compare(a, b *value) (int, bool) {
	x, ok := a.number()
	if !ok {
		return 0, false
	}
	y, ok := b.number()
	if !ok {
		return 0, false
	}
	return x.compare(y), true
}

func (v *value) number() (number, bool) {
	switch v.class {
	case isNumber:
		return v.num, true
	case isText:
		return parseNumber(v.text)
	}
	return number{}, false
}

// search evaluates CONTAINS, STARTSWITH and ENDSWITH. Without a text on both sides it is FALSE, in the NOT forms too.
func (m *message) search(n *node) tri {
	v := m.value(n.left)
	if v.class != isText || len(n.text) == 0 {
		return no
	}
	var found bool
	switch n.op {
	case opContains:
		found = bytes.Contains(v.text, n.text)
	case opStartsWith:
		found = bytes.HasPrefix(v.text, n.text)
	default:
		found = bytes.HasSuffix(v.text, n.text)
	}
	return truth(found != n.invert)
}
