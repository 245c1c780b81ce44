package sql

import (
	"fmt"
	"strings"
)

// MaxLength bounds an expression, in bytes.
const MaxLength = 64 << 10

// Expr is a compiled expression.
type Expr struct {
	root  *node
	marks [][]byte // properties by slot: the name and the separator behind it
}

// Compile parses and checks an expression. The error is an *Error, which names the place. The text is not kept.
func Compile(text string) (*Expr, error) {
	if len(text) > MaxLength {
		return nil, &Error{Line: 1, Column: 1, what: "Too long", why: fmt.Sprintf("an expression may have %d bytes, this has %d", MaxLength, len(text))}
	}
	p := &parser{lex: lexer{text: text}, slots: map[string]int32{}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	first := p.tok
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tEnd {
		return nil, p.expected("AND, OR, a comparison, or the end")
	}
	if n, err = p.asCondition(first, n); err != nil {
		return nil, err
	}
	return &Expr{root: n, marks: p.marks}, nil
}

// parser goes down the grammar; one token is read ahead.
type parser struct {
	lex    lexer
	tok    token
	depth  int // of unary inside of unary
	leaves int
	marks  [][]byte
	slots  map[string]int32
}

// advance reads the next token.
func (p *parser) advance() (err error) {
	p.tok, err = p.lex.next()
	return err
}

// take is the present token if it is a k, and goes on.
func (p *parser) take(k kind, what string) (token, error) {
	t := p.tok
	if t.kind != k {
		return t, p.expected(what)
	}
	return t, p.advance()
}

// image shows a token.
func (p *parser) image(t token) string {
	if t.kind == tEnd {
		return `"<EOF>"`
	}
	return quote(p.lex.text[t.from:t.to])
}

// expected is the error that something else should be here.
func (p *parser) expected(what string) error {
	why := "Was expecting " + what + "."
	if t := p.tok; t.kind == tMinus && strings.HasPrefix(p.lex.text[t.from:], "--") {
		why += " (A comment that begins with -- must end with a line end.)"
	}
	return errorAt(p.lex.text, p.tok.from, "Encountered "+p.image(p.tok), why)
}

func (p *parser) or() (*node, error) { return p.chain(tOr, opOr, p.and) }

func (p *parser) and() (*node, error) { return p.chain(tAnd, opAnd, p.equality) }

// chain parses operands joined by one word. The tree it makes is as flat as can be, for lists of conditions may be long.
func (p *parser) chain(word kind, o op, operand func() (*node, error)) (*node, error) {
	first, err := operand()
	if err != nil || p.tok.kind != word {
		return first, err
	}
	list, at := []*node{first}, p.tok
	for p.tok.kind == word {
		at = p.tok
		if err := p.advance(); err != nil {
			return nil, err
		}
		n, err := operand()
		if err != nil {
			return nil, err
		}
		for _, x := range []**node{&list[len(list)-1], &n} {
			if *x, err = p.asCondition(at, *x); err != nil {
				return nil, err
			}
		}
		list = append(list, n)
	}
	return p.balance(at, o, list)
}

// balance joins conditions, in their order.
func (p *parser) balance(at token, o op, list []*node) (*node, error) {
	if len(list) == 1 {
		return list[0], nil
	}
	left, err := p.balance(at, o, list[:len(list)/2])
	if err != nil {
		return nil, err
	}
	right, err := p.balance(at, o, list[len(list)/2:])
	if err != nil {
		return nil, err
	}
	return p.logic(at, o, left, right)
}

func (p *parser) equality() (*node, error) {
	n, err := p.comparison()
	for err == nil {
		at := p.tok
		switch at.kind {
		case tEqual, tNotEqual:
			n, err = p.equals(at, n)
		case tIs:
			n, err = p.isNull(at, n)
		default:
			return n, nil
		}
	}
	return nil, err
}

// equals parses what follows n: = or <> and a value.
func (p *parser) equals(at token, n *node) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	right, err := p.comparison()
	if err != nil {
		return nil, err
	}
	n, err = p.equal(at, n, right)
	if err != nil || at.kind == tEqual {
		return n, err
	}
	return p.tree(at, node{op: opNot, left: n})
}

// isNull parses what follows n: IS [NOT] NULL.
func (p *parser) isNull(at token, n *node) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	invert := p.tok.kind == tNot
	want := "NULL or NOT NULL"
	if invert {
		want = "NULL"
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	if _, err := p.take(tNull, want); err != nil {
		return nil, err
	}
	n, err := p.tree(at, node{op: opIsNull, left: n})
	if err != nil || !invert {
		return n, err
	}
	return p.tree(at, node{op: opNot, left: n})
}

func (p *parser) comparison() (*node, error) {
	n, err := p.unary()
	for err == nil {
		at, invert := p.tok, p.tok.kind == tNot
		if invert {
			if err = p.advance(); err != nil {
				break
			}
		}
		switch k := p.tok.kind; {
		case !invert && tGreater <= k && k <= tLessEqual:
			n, err = p.ordered(at, n)
		case k == tContains || k == tStartsWith || k == tEndsWith:
			n, err = p.search(at, n, invert)
		case k == tBetween:
			n, err = p.range_(at, n, invert)
		case k == tIn:
			n, err = p.list(at, n, invert)
		case invert:
			err = p.expected("CONTAINS, STARTSWITH, ENDSWITH, BETWEEN or IN after NOT")
		default:
			return n, nil
		}
	}
	return nil, err
}

func (p *parser) ordered(at token, n *node) (*node, error) {
	o := [...]op{opGreater, opGreaterEqual, opLess, opLessEqual}[at.kind-tGreater]
	if err := p.advance(); err != nil {
		return nil, err
	}
	right, err := p.unary()
	if err != nil {
		return nil, err
	}
	return p.order(at, o, n, right)
}

func (p *parser) search(at token, n *node, invert bool) (*node, error) {
	o := [...]op{opContains, opStartsWith, opEndsWith}[p.tok.kind-tContains]
	if err := p.advance(); err != nil {
		return nil, err
	}
	text, err := p.string()
	if err != nil {
		return nil, err
	}
	return p.tree(at, node{op: o, left: n, text: []byte(text), invert: invert})
}

func (p *parser) range_(at token, n *node, invert bool) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	low, err := p.unary()
	if err != nil {
		return nil, err
	}
	if _, err := p.take(tAnd, "AND and the second bound"); err != nil {
		return nil, err
	}
	high, err := p.unary()
	if err != nil {
		return nil, err
	}
	return p.between(at, n, low, high, invert)
}

func (p *parser) list(at token, n *node, invert bool) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if _, err := p.take(tOpen, "("); err != nil {
		return nil, err
	}
	var list []string
	for {
		s, err := p.string()
		if err != nil {
			return nil, err
		}
		list = append(list, s)
		if p.tok.kind != tComma {
			break
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	if _, err := p.take(tClose, "a comma or )"); err != nil {
		return nil, err
	}
	return p.in(at, n, list, invert)
}

// string parses a text in quotes.
func (p *parser) string() (string, error) {
	t, err := p.take(tString, "a text in single quotes")
	if err != nil {
		return "", err
	}
	return unquote(p.lex.text[t.from:t.to]), nil
}

// unary is where the grammar comes back to itself, so the depth is watched here.
func (p *parser) unary() (*node, error) {
	if p.depth++; p.depth > maxHeight {
		return nil, p.tooDeep(p.tok)
	}
	defer func() { p.depth-- }()
	at := p.tok
	switch at.kind {
	case tPlus, tMinus, tNot:
	default:
		return p.primary()
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.unary()
	switch {
	case err != nil || at.kind == tPlus:
		return n, err
	case at.kind == tMinus:
		return p.minus(n), nil
	}
	return p.not(at, n)
}

func (p *parser) primary() (*node, error) {
	t := p.tok
	var n *node
	var err error
	switch t.kind {
	case tString:
		n = &node{op: opString, text: []byte(unquote(p.lex.text[t.from:t.to]))}
	case tInt, tFloat:
		n, err = p.number(t)
	case tName:
		n = p.property(p.lex.text[t.from:t.to])
	case tTrue, tFalse, tNull:
		n = &node{op: opTrue + op(t.kind-tTrue)}
	case tOpen:
		return p.parentheses()
	default:
		return nil, p.expected("a name, a number, a text in single quotes, TRUE, FALSE, NULL, NOT, +, - or (")
	}
	if err == nil {
		err = p.leaf(t)
	}
	if err != nil {
		return nil, err
	}
	return n, p.advance()
}

func (p *parser) parentheses() (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	_, err = p.take(tClose, "AND, OR, a comparison, or )")
	return n, err
}
