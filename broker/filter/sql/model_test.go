package sql

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// This file has a second evaluator, as simple as can be: it walks over the text's own tree, with any for values (nil, bool, string,
// float64), maps for properties and exact rationals for comparisons. Random expressions must be worth the same in both.

// twin is an expression: its text, and what it is worth.
type twin struct {
	text      string
	condition bool
	literal   bool
	eval      func(p map[string]string) any
}

func literal(text string, v any) twin {
	_, isBool := v.(bool)
	return twin{text: text, literal: true, condition: isBool, eval: func(map[string]string) any { return v }}
}

type maker struct{ r *rand.Rand }

func pick[T any](m maker, list ...T) T { return list[m.r.IntN(len(list))] }

var twinNames = []string{"a", "b", "c", "TAGS"}

var twinValues = []string{"", "0", "1", "5", "-5", "5.5", "1e1", "10", "abc", "ab", "true", "FALSE", "it's", "9007199254740993", " 5", "3000000000", "bc"}

func (m maker) property() twin {
	name := pick(m, twinNames...)
	return twin{text: name, eval: func(p map[string]string) any {
		if p[name] == "" {
			return nil
		}
		return p[name]
	}}
}

func (m maker) numeral() twin {
	text := pick(m, "0", "1", "5", "10", "5.5", "1e1", "3000000000", "9007199254740993", ".5", "7L")
	f := rational(strings.TrimSuffix(text, "L"))
	return twin{text: text, literal: true, eval: func(map[string]string) any { return f }}
}

func (m maker) signed() twin {
	x := m.numeral()
	if m.r.IntN(3) > 0 {
		return x
	}
	return twin{text: pick(m, "-", "- ") + x.text, eval: func(p map[string]string) any { return new(big.Rat).Neg(x.eval(p).(*big.Rat)) }}
}

func (m maker) value() twin {
	switch m.r.IntN(6) {
	case 0:
		return m.signed()
	case 1:
		s := pick(m, twinValues...)
		return literal("'"+strings.ReplaceAll(s, "'", "''")+"'", s)
	case 2:
		x := m.property()
		return twin{text: "-" + x.text, eval: func(map[string]string) any { return nil }}
	}
	return m.property()
}

// parens puts parentheses around, sometimes when they are not needed.
func (m maker) parens(x twin) string { return "(" + x.text + ")" }

func asBool(x twin) func(p map[string]string) any {
	return func(p map[string]string) any {
		switch v := x.eval(p).(type) {
		case nil:
			return nil
		case bool:
			return v
		}
		return false
	}
}

func (m maker) cond(depth int) twin {
	if depth == 0 {
		return pick(m, m.order, m.equals, m.in, m.between, m.search, m.isNull, m.bare)()
	}
	left, right := m.cond(depth-1), m.cond(m.r.IntN(depth))
	l, r := asBool(left), asBool(right)
	switch m.r.IntN(5) {
	case 0:
		return twin{text: "NOT " + m.parens(left), condition: true, eval: func(p map[string]string) any {
			if v := l(p); v != nil {
				return !v.(bool)
			}
			return nil
		}}
	case 1:
		return twin{text: m.parens(left) + " = " + m.parens(right), condition: true, eval: func(p map[string]string) any { return naiveEqual(left.eval(p), right.eval(p)) }}
	case 2:
		return twin{text: m.parens(left) + " and " + m.parens(right), condition: true, eval: func(p map[string]string) any { return junction(l(p), r(p), false) }}
	}
	return twin{text: m.parens(left) + " OR " + m.parens(right), condition: true, eval: func(p map[string]string) any { return junction(l(p), r(p), true) }}
}

// junction is OR for strong = true, AND for false.
func junction(a, b any, strong bool) any {
	if a == strong || b == strong {
		return strong
	}
	if a == nil || b == nil {
		return nil
	}
	return !strong
}

func (m maker) bare() twin {
	return pick(m, m.property(), literal("TRUE", true), literal("FALSE", false), twin{text: "NULL", condition: true, eval: func(map[string]string) any { return nil }})
}

func (m maker) order() twin {
	number := func() twin { return pick(m, m.property, m.signed)() }
	left, right, sign := number(), number(), pick(m, "<", "<=", ">", ">=")
	return twin{text: left.text + sign + right.text, condition: true, eval: func(p map[string]string) any { return naiveOrder(left.eval(p), right.eval(p), sign) }}
}

func (m maker) equals() twin {
	left, right := m.value(), m.value()
	if m.r.IntN(4) == 0 {
		right = pick(m, literal("TRUE", true), literal("FALSE", false))
	}
	if m.r.IntN(2) == 0 {
		return twin{text: left.text + " = " + right.text, condition: true, eval: func(p map[string]string) any { return naiveEqual(left.eval(p), right.eval(p)) }}
	}
	return twin{text: left.text + " <> " + right.text, condition: true, eval: func(p map[string]string) any {
		if v := naiveEqual(left.eval(p), right.eval(p)); v != nil {
			return !v.(bool)
		}
		return nil
	}}
}

func (m maker) isNull() twin {
	x, invert := m.value(), m.r.IntN(2) == 0
	text := " is null"
	if invert {
		text = " is not null"
	}
	return twin{text: x.text + text, condition: true, eval: func(p map[string]string) any { return (x.eval(p) == nil) != invert }}
}

func (m maker) in() twin {
	x, invert := m.property(), m.r.IntN(2) == 0
	set, words := map[string]bool{}, []string{}
	for range 1 + m.r.IntN(12) {
		s := pick(m, twinValues...)
		set[s] = true
		words = append(words, "'"+strings.ReplaceAll(s, "'", "''")+"'")
	}
	text := x.text + map[bool]string{true: " not in ("}[invert]
	if !invert {
		text += " in ("
	}
	return twin{text: text + strings.Join(words, ", ") + ")", condition: true, eval: func(p map[string]string) any {
		v := x.eval(p)
		if v == nil {
			return nil
		}
		return set[v.(string)] != invert
	}}
}

func (m maker) between() twin {
	x, low, high := m.property(), m.property(), m.signed()
	if m.r.IntN(2) == 0 {
		return twin{text: x.text + " not between " + low.text + " and " + high.text, condition: true, eval: func(p map[string]string) any {
			return junction(naiveOrder(x.eval(p), low.eval(p), "<"), naiveOrder(x.eval(p), high.eval(p), ">"), true)
		}}
	}
	return twin{text: x.text + " between " + low.text + " and " + high.text, condition: true, eval: func(p map[string]string) any {
		return junction(naiveOrder(x.eval(p), low.eval(p), ">="), naiveOrder(x.eval(p), high.eval(p), "<="), false)
	}}
}

func (m maker) search() twin {
	x, s, invert := m.value(), pick(m, twinValues...), m.r.IntN(2) == 0
	word := pick(m, "contains", "startswith", "endswith")
	text := x.text + " " + word
	if invert {
		text = x.text + " not " + word
	}
	return twin{text: text + " '" + strings.ReplaceAll(s, "'", "''") + "'", condition: true, eval: func(p map[string]string) any {
		v, ok := x.eval(p).(string)
		if !ok || s == "" {
			return false
		}
		found := map[string]func(string, string) bool{"contains": strings.Contains, "startswith": strings.HasPrefix, "endswith": strings.HasSuffix}[word](v, s)
		return found != invert
	}}
}

// rational is the number a text means, nil when it means none.
func rational(s string) *big.Rat {
	s = strings.TrimSpace(s)
	if _, err := strconv.ParseFloat(s, 64); err != nil {
		return nil
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil
	}
	return r
}

func number2(v any) *big.Rat {
	switch v := v.(type) {
	case *big.Rat:
		return v
	case string:
		return rational(v)
	}
	return nil
}

func naiveOrder(a, b any, sign string) any {
	if a == nil || b == nil {
		return nil
	}
	x, y := number2(a), number2(b)
	if x == nil || y == nil {
		return nil
	}
	c := x.Cmp(y)
	switch sign {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

func naiveEqual(a, b any) any {
	switch {
	case a == nil && b == nil:
		return true
	case a == nil:
		return nil
	case b == nil:
		return false
	}
	_, aNum := a.(*big.Rat)
	_, bNum := b.(*big.Rat)
	aBool, aIs := a.(bool)
	bBool, bIs := b.(bool)
	aText, _ := a.(string)
	bText, _ := b.(string)
	switch {
	case (aIs || bIs) && (aNum || bNum):
		return false
	case aIs && bIs:
		return aBool == bBool
	case aIs:
		return aBool == strings.EqualFold(bText, "true")
	case bIs:
		return bBool == strings.EqualFold(aText, "true")
	case !aNum && !bNum:
		return aText == bText
	}
	x, y := number2(a), number2(b)
	if x == nil || y == nil {
		return nil
	}
	return x.Cmp(y) == 0
}

// TestModel compares random expressions on random messages with the twin; a failure prints the seed's part that repeats it.
func TestModel(t *testing.T) {
	rounds := 20_000
	if testing.Short() {
		rounds = 2000
	}
	refused := 0
	for seed := range uint64(rounds) {
		m := maker{rand.New(rand.NewPCG(seed, 24))}
		x := m.cond(m.r.IntN(4))
		e, err := Compile(x.text)
		if err != nil {
			if refusable(x.text) {
				refused++
				continue
			}
			t.Fatalf("seed %d: %s: %v", seed, x.text, err)
		}
		want := asBool(x)
		for range 5 {
			p, words := map[string]string{}, []string{}
			for _, name := range twinNames {
				if v := pick(m, twinValues...); v != "" && m.r.IntN(4) > 0 {
					p[name] = v
					words = append(words, name+"="+v)
				}
			}
			msg := message{expr: e, props: props(words...)}
			got := map[tri]any{unknown: nil, no: false, yes: true}[msg.condition(e.root)]
			if w := want(p); got != w {
				t.Fatalf("seed %d: %s with %v is %v, the twin says %v", seed, x.text, fmt.Sprint(words), got, w)
			}
		}
	}
	if refused > rounds/5 {
		t.Errorf("%d of %d expressions were refused: little was compared", refused, rounds)
	}
}

// refusable says whether a static check may refuse the text: the maker does not know of literals beside each other.
func refusable(text string) bool {
	return strings.Contains(text, "NULL") && strings.Contains(text, "=") || strings.Contains(text, "TRUE") || strings.Contains(text, "FALSE")
}
