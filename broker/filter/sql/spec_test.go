package sql

import (
	"errors"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// props encodes "name=value" words.
func props(words ...string) []byte {
	var b []byte
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		b = protocol.AppendProperty(b, name, value)
	}
	return b
}

// evaluate is the truth value of an expression: "TRUE", "FALSE", "NULL", or the error.
func evaluate(text string, properties ...string) string {
	e, err := Compile(text)
	if err != nil {
		return err.Error()
	}
	m := message{expr: e, props: props(properties...)}
	got := m.condition(e.root)
	if e.Match(m.props) != (got == yes) {
		return "Match differs"
	}
	return [...]string{unknown: "NULL", no: "FALSE", yes: "TRUE"}[got]
}

// TestSpec has a row or more for each sentence of the description of SQL92 filters, as RocketMQ 5.5.0 evaluates them.
func TestSpec(t *testing.T) {
	const (
		T, F, N = "TRUE", "FALSE", "NULL"
	)
	for _, group := range []struct {
		says string
		rows [][]string // expression, result, properties
	}{
		{"every property value is a string", [][]string{{"a = '5'", T, "a=5"}, {"a = '5.0'", F, "a=5"}}},
		{"a missing property is null", [][]string{{"a IS NULL", T}, {"a = 'x'", N}, {"a IS NULL", T, "b=1"}}},
		{"an empty value is as good as missing", [][]string{{"a IS NULL", T, "a="}}},
		{"the last of several values counts", [][]string{{"a = '2'", T, "a=1", "a=2"}}},
		{"system properties can be used", [][]string{{"TAGS IN ('x')", T, "TAGS=x"}, {"UNIQ_KEY = '1'", T, "UNIQ_KEY=1"}}},
		{"keywords ignore case, names do not", [][]string{
			{"a nOt BeTwEeN 3 aNd 5 Or b Is nUlL", T, "a=7"}, {"A = 'x'", N, "a=x"}, {"a In ('x') and TRUE", T, "a=x"}, {"false", F}}},
		{"a name has letters, digits, _ and $", [][]string{{"_a$1 = 'x'", T, "_a$1=x"}, {"$ = 'x'", T, "$=x"}, {"isnt = 'x'", T, "isnt=x"}}},
		{"a quote in a text is doubled", [][]string{{"a = 'it''s'", T, "a=it's"}, {"a = ''''", T, "a='"}, {"a = ''", F, "a=x"}, {"a = '价格'", T, "a=价格"}}},
		{"whole numbers may end with l", [][]string{{"a = 5L", T, "a=5"}, {"a = 5l", T, "a=5"}, {"a = 0", T, "a=0"},
			{"a = 9223372036854775807", T, "a=9223372036854775807"}, {"a < 9223372036854775807", T, "a=9223372036854775806"}}},
		{"floats have a point or an exponent", [][]string{{"a = 5.", T, "a=5"}, {"a = .5", T, "a=0.5"}, {"a = 5e1", T, "a=50"}, {"a = 5.5E-1", T, "a=0.55"},
			{"a = 05.5", T, "a=5.5"}, {"a = 1.e+2", T, "a=100"}}},
		{"comments and blanks", [][]string{{"a -- x '\n= 'x'", T, "a=x"}, {"a /* * ' */ = /**/ 'x'", T, "a=x"}, {"\ta\r\n=\f'x' ", T, "a=x"},
			{"a -- x\r = 'x'", T, "a=x"}, {"a > --5", T, "a=6"}}},
		{"AND binds closer than OR", [][]string{{"TRUE OR TRUE AND FALSE", T}, {"(TRUE OR TRUE) AND FALSE", F}}},
		{"= binds less than <", [][]string{{"a > 5 = TRUE", T, "a=6"}, {"a > 5 = FALSE", F, "a=6"}}},
		{"= goes from left to right", [][]string{{"a = b = FALSE", T, "a=1", "b=2"}}},
		{"NOT and signs bind closest", [][]string{{"NOT (a = 'x')", F, "a=x"}, {"a = +-5", T, "a=-5"}, {"a = - - 5", T, "a=5"}, {"NOT NOT TRUE", T}}},
		{"a bare property: null is null, text is not true", [][]string{{"a", N}, {"a", F, "a=true"}, {"NOT a", T, "a=true"}, {"a OR TRUE", T, "a=x"}, {"(a)", F, "a=x"}}},
		{"literals as conditions", [][]string{{"TRUE", T}, {"FALSE", F}, {"NULL", N}, {"NOT NULL", N}, {"NULL OR TRUE", T}, {"NULL AND FALSE", F}, {"+TRUE", T}}},
		{"AND", [][]string{{"a = '1' AND b = '1'", F, "a=2"}, {"b = '1' AND a = '1'", F, "a=2"}, {"a = '1' AND b = '1'", N, "a=1"}, {"b = '1' AND a = '1'", N, "a=1"},
			{"a = '1' AND b = '1'", T, "a=1", "b=1"}, {"a = '1' AND b = '1'", N}}},
		{"OR", [][]string{{"a = '1' OR b = '1'", T, "a=1"}, {"b = '1' OR a = '1'", T, "a=1"}, {"a = '1' OR b = '1'", N, "a=2"}, {"a = '1' OR b = '1'", F, "a=2", "b=2"}}},
		{"= with only the left null is null", [][]string{{"a = 5", N}, {"a = b", N, "b=1"}}},
		{"= with only the right null is false", [][]string{{"a = b", F, "a=1"}, {"5 = a", F}}},
		{"= with both null is true", [][]string{{"a = b", T}, {"a <> b", F}}},
		{"equal objects are equal", [][]string{{"a = b", T, "a=x", "b=x"}, {"5 = 5", T}, {"'a' = 'a'", T}, {"TRUE = TRUE", T}, {"5 = 5.0", T}, {"5 = 6", F}, {"'a' = 'b'", F}}},
		{"= converts text to a number", [][]string{{"a = 5", T, "a=5"}, {"a = 5.5", T, "a=5.5"}, {"5 = a", T, "a=5"}, {"a = 5.0", T, "a=5"}, {"a = 3000000000", T, "a=3000000000"}}},
		{"= converts text to a boolean", [][]string{{"a = TRUE", T, "a=tRue"}, {"a = TRUE", F, "a=yes"}, {"a = FALSE", T, "a=yes"}}},
		{"a boolean is never equal to a number", [][]string{{"5 = TRUE", F}, {"5 <> TRUE", T}, {"(a IS NULL) = 1", F}}},
		{"IS NULL", [][]string{{"a IS NULL", T}, {"a IS NULL", F, "a=x"}, {"a IS NOT NULL", F}, {"a IS NOT NULL", T, "a=x"}, {"5 IS NULL", F}, {"NULL IS NULL", T},
			{"(a = 5) IS NULL", T}, {"a IS NULL IS NULL", F}}},
		{"<> is NOT =, so a missing property does not match", [][]string{{"a <> 'x'", N}, {"a <> 'x'", T, "a=y"}, {"a <> 5", F, "a=5"}, {"a <> b", T, "a=1"}}},
		{"order with null is null", [][]string{{"a > 5", N}, {"5 > a", N}, {"a < b", N, "a=1"}, {"a < -b", N, "a=1", "b=1"}}},
		{"order of two texts is that of numbers", [][]string{{"a < b", T, "a=9", "b=10"}, {"a >= b", T, "a=1.5", "b=1.5"}, {"a > b", F, "a=9", "b=1e1"}}},
		{"order", [][]string{{"a > 5", T, "a=6"}, {"a > 5", F, "a=5"}, {"a >= 5", T, "a=5"}, {"a < 5", T, "a=-6"}, {"a <= 5", T, "a=5"}, {"a <= 5", F, "a=6"}, {"5 < a", T, "a=6"},
			{"6 > 5", T}, {"5.5 > 5", T}, {"a > 5.0", T, "a=5.5"}}},
		{"CONTAINS, STARTSWITH, ENDSWITH", [][]string{{"a CONTAINS 'b'", T, "a=abc"}, {"a CONTAINS 'x'", F, "a=abc"}, {"a STARTSWITH 'ab'", T, "a=abc"}, {"a STARTSWITH 'b'", F, "a=abc"},
			{"a ENDSWITH 'bc'", T, "a=abc"}, {"a ENDSWITH 'b'", F, "a=abc"}, {"a NOT CONTAINS 'x'", T, "a=abc"}, {"a NOT CONTAINS 'b'", F, "a=abc"},
			{"a NOT STARTSWITH 'x'", T, "a=abc"}, {"a NOT ENDSWITH 'x'", T, "a=abc"}, {"'abc' CONTAINS 'b'", T}}},
		{"without text they are FALSE, the NOT forms too", [][]string{{"a CONTAINS 'b'", F}, {"a NOT CONTAINS 'b'", F}, {"a CONTAINS ''", F, "a=x"}, {"a NOT CONTAINS ''", F, "a=x"},
			{"a NOT STARTSWITH 'b'", F}, {"a NOT ENDSWITH ''", F, "a=x"}, {"5 CONTAINS '5'", F}, {"5 NOT CONTAINS 'x'", F}, {"NOT (a CONTAINS 'b')", T}}},
		{"BETWEEN includes its bounds", [][]string{{"a BETWEEN 2 AND 7", T, "a=2"}, {"a BETWEEN 2 AND 7", T, "a=7"}, {"a BETWEEN 2 AND 7", F, "a=8"}, {"a BETWEEN 2 AND 7", N},
			{"a BETWEEN b AND c", T, "a=2", "b=1", "c=3"}, {"a BETWEEN 1.5 AND 2", T, "a=1.75"}, {"a BETWEEN -5 AND -7", F, "a=-6"}, {"a BETWEEN -7 AND -5", T, "a=-6"}, {"a BETWEEN 2 AND 2", T, "a=2"}}},
		{"NOT BETWEEN", [][]string{{"a NOT BETWEEN 2 AND 7", F, "a=2"}, {"a NOT BETWEEN 2 AND 7", T, "a=8"}, {"a NOT BETWEEN 2 AND 7", N}, {"a NOT BETWEEN 7 AND 2", T, "a=3"}}},
		{"IN compares text exactly", [][]string{{"a IN ('x', 'y')", T, "a=y"}, {"a IN ('x')", F, "a=X"}, {"a IN ('x')", N}, {"a NOT IN ('x')", N}, {"a NOT IN ('x')", T, "a=y"}, {"a NOT IN ('x')", F, "a=x"},
			{"a IN ('5')", F, "a=5.0"}, {"a IN ('1','2','3','4','5','6','7','8','9','10')", T, "a=10"}, {"a NOT IN ('1','2','3','4','5','6','7','8','9','10')", T, "a=11"}, {"(a) IN ('x')", T, "a=x"}}},
		{"the minus of what is no number is null", [][]string{{"-a = 5", N, "a=5"}, {"-a IS NULL", T, "a=5"}, {"-'x' IS NULL", T}, {"-TRUE IS NULL", T}, {"- -a > 1", N, "a=5"}}},
		{"different from Java, which throws: compared as numbers", [][]string{{"a > 5", T, "a=5.5"}, {"a = 5", T, "a=5.0"}, {"a < 5", F, "a=5.5"}, {"a BETWEEN 1 AND 2", T, "a=1.5"}, {"a = 5", T, "a= 5 "},
			{"a > 2147483647", T, "a=3000000000"}, {"a = 5", F, "a=3000000000"}, {"a > 5", T, "a=1e3"}, {"9223372036854775807 > a", T, "a=1e3"}, {"a > 5", T, "a=99999999999999999999"}}},
		{"different from Java, which throws: no number is NULL", [][]string{{"a > 5", N, "a=abc"}, {"a = 5", N, "a=abc"}, {"a <> 5", N, "a=abc"}, {"a > 5 OR b = 'x'", T, "a=abc", "b=x"}, {"a < b", N, "a=1", "b=x"},
			{"NOT (a > 5)", N, "a=abc"}, {"a > 5", N, "a=5x"}, {"a > 5", N, "a=."}, {"a > 5", N, "a=-"}, {"a > 5", N, "a=1e"}, {"a > 5", N, "a=0x10"}, {"a > 5", N, "a=1_000"}}},
		{"different from Java, which throws: TRUE on the left", [][]string{{"TRUE = a", T, "a=true"}, {"FALSE = a", T, "a=x"}, {"TRUE = a", F}, {"(b = '1') = a", T, "a=TRUE", "b=1"}}},
		{"what Double reads", [][]string{{"a > 5", T, "a=Infinity"}, {"a > 5", F, "a=-Infinity"}, {"a > 5", T, "a=NaN"}, {"a < 5", F, "a=NaN"}, {"a = 5.5", T, "a=5.5f"}, {"a = 5.5", T, "a=5.5D"}, {"a > 5", N, "a=inf"},
			{"a > 1", T, "a=1e400"}, {"a < 1", T, "a=-1e400"}, {"a < 1", T, "a=1e-400"}, {"a > 0", F, "a=0e999999999999"}, {"a = 1", T, "a=0.00001e5"}, {"a = b", F, "a=NaN", "b=NaN1"}, {"a >= b", T, "a=NaN", "b=NaN"}}},
	} {
		for _, r := range group.rows {
			if got := evaluate(r[0], r[2:]...); got != r[1] {
				t.Errorf("%s: %s with %q is %s, want %s", group.says, r[0], r[2:], got, r[1])
			}
		}
	}
}

// TestErrors: an expression that cannot be used is refused with the place, and with what should be there or is wrong.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		// what the recorded Java client sent to 5.5.0, which named the same place
		{"a >>> 3 and", `Encountered ">" at line 1, column 4. Was expecting a name, a number, a text in single quotes, TRUE, FALSE, NULL, NOT, +, - or (.`},
		{"", `Encountered "<EOF>" at line 1, column 1. Was expecting a name`},
		{"a >", `Encountered "<EOF>" at line 1, column 4. Was expecting a name`},
		{"a = 1\n and\n b = = 2", `Encountered "=" at line 3, column 6.`},
		{"'价格' = = 2", `Encountered "=" at line 1, column 8.`},
		{"a = 1 b", `Encountered "b" at line 1, column 7. Was expecting AND, OR, a comparison, or the end.`},
		{"(a = 1", `Encountered "<EOF>" at line 1, column 7. Was expecting AND, OR, a comparison, or ).`},
		{"a = 1)", `Encountered ")" at line 1, column 6.`},
		{"a LIKE 'x'", `Encountered "LIKE" at line 1, column 3.`},
		{"a + 1 > 5", `Encountered "+" at line 1, column 3.`},
		{"a IS 5", `Encountered "5" at line 1, column 6. Was expecting NULL or NOT NULL.`},
		{"a IS NOT 5", `Encountered "5" at line 1, column 10. Was expecting NULL.`},
		{"a NOT 5", `Encountered "5" at line 1, column 7. Was expecting CONTAINS,`},
		{"a CONTAINS b", `Encountered "b" at line 1, column 12. Was expecting a text in single quotes.`},
		{"a IN ()", `Encountered ")" at line 1, column 7. Was expecting a text in single quotes.`},
		{"a IN ('x'", `Encountered "<EOF>" at line 1, column 10. Was expecting a comma or ).`},
		{"a IN (5)", `Encountered "5" at line 1, column 7.`},
		{"a IN 'x'", `Encountered "'x'" at line 1, column 6. Was expecting (.`},
		{"a BETWEEN 1 OR 2", `Encountered "OR" at line 1, column 13. Was expecting AND and the second bound.`},
		{"a = 'x", `Lexical error at line 1, column 5. the text in quotes does not end`},
		{"a = 1 /* x", `Lexical error at line 1, column 7. the comment does not end`},
		{"a = 1 -- x", `(A comment that begins with -- must end with a line end.)`},
		{"a = \"x\"", `Lexical error at line 1, column 5. the character "\"" means nothing here`},
		{"a == 1", `Encountered "=" at line 1, column 4.`},
		{"a != 1", `Lexical error at line 1, column 3.`},
		{"a = 1;", `Lexical error at line 1, column 6.`},
		{"价 = 1", `Lexical error at line 1, column 1.`},
		{"a = 0x10", `Encountered "x10" at line 1, column 6.`},
		{"a = 010", `Encountered "10" at line 1, column 6.`},
		{"a = 0L", `Encountered "L" at line 1, column 6.`},
		{"a = 1e", `Encountered "e" at line 1, column 6.`},
		{"a = 9223372036854775808", `Illegal use of "9223372036854775808" at line 1, column 5. a whole number is at most`},
		{"a = 1e999", `Illegal use of "1e999" at line 1, column 5. the number is too great`},
		{"a = 0.0", `Illegal use of "0.0" at line 1, column 5. a number with a point must be at least 4.9E-324`},
		{"a = 1e-999", `must be at least`},
		{"5", `Illegal use of "5" at line 1, column 1. a value is no condition`},
		{"'x' AND TRUE", `Illegal use of "AND" at line 1, column 5. a value is no condition`},
		{"TRUE OR TRUE OR 5", `Illegal use of "OR" at line 1, column 14. a value is no condition`},
		{"NOT 5", `Illegal use of "NOT" at line 1, column 1. a value is no condition`},
		{"-TRUE", `a value is no condition`},
		{"a > 'x'", `Illegal use of ">" at line 1, column 3. only numbers have an order, a text in quotes has none`},
		{"'x' > a", `only numbers have an order`},
		{"a > TRUE", `only numbers have an order`},
		{"a > NULL", `only numbers have an order`},
		{"a > (b = 1)", `only numbers have an order`},
		{"a > 1 > 0", `only numbers have an order`},
		{"NOT a > 5", `NOT binds closer than a comparison`},
		{"a = NULL", `Illegal use of "=" at line 1, column 3. nothing is equal to NULL: write IS NULL or IS NOT NULL`},
		{"NULL <> a", `nothing is equal to NULL`},
		{"TRUE = 5", `TRUE and FALSE are never equal to a number or a text`},
		{"FALSE <> 'x'", `TRUE and FALSE are never equal`},
		{"a BETWEEN 7 AND 2", `Illegal use of "BETWEEN" at line 1, column 3. the first bound is above the second`},
		{"a BETWEEN 7.5 AND 7", `the first bound is above the second`},
		{"a BETWEEN NULL AND 2", `only numbers have an order`},
		{"a BETWEEN 'a' AND 'b'", `only numbers have an order`},
		{"5 IN ('x')", `Illegal use of "IN" at line 1, column 3. the name of a property must be on its left`},
		{strings.Repeat("a", 50) + "!", `Lexical error at line 1, column 51`},
		{"a = 1 " + strings.Repeat("b", 100), `Encountered "` + strings.Repeat("b", 40) + `…" at`},
	} {
		_, err := Compile(c.text)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}

// TestNesting: 10,000 levels are refused, not run into.
func TestNesting(t *testing.T) {
	deep := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	for _, text := range []string{
		deep("(", "a = 1", ")", 10_000), deep("NOT ", "a", "", 10_000), deep("- ", "1", "", 10_000), deep("", "a", " = 1", 10_000),
		deep("a = (", "1", ")", 10_000), deep("", "a", " CONTAINS 'x'", 4000), deep("", "a", " IS NULL", 8000), deep("(", "", "", 60_000),
	} {
		if _, err := Compile(text); err == nil || !strings.Contains(err.Error(), "Nested too deep at line 1, column ") {
			t.Errorf("%.20s…: %v", text, err)
		}
	}
	if got := evaluate(deep("(", "a = 1", ")", 400), "a=1"); got != "TRUE" {
		t.Errorf("400 levels: %s", got)
	}
	if got := evaluate("a = 1"+strings.Repeat(" OR a = 2", 990), "a=2"); got != "TRUE" {
		t.Errorf("a long list nests: %s", got)
	}
	if _, err := Compile("a = 1" + strings.Repeat(" OR a = 2", 1000)); err == nil || !strings.Contains(err.Error(), "Too many conditions at line 1, column 9001.") {
		t.Errorf("a list without end: %v", err)
	}
	if got := evaluate("a IN ('1'"+strings.Repeat(", '2'", 5000)+", '3')", "a=3"); got != "TRUE" {
		t.Errorf("a long IN: %s", got)
	}
	if _, err := Compile("a = '" + strings.Repeat("x", MaxLength) + "'"); err == nil || !strings.Contains(err.Error(), "Too long") {
		t.Error(err)
	}
}

func TestPropertiesBeyondTheKeptOnes(t *testing.T) {
	var text, words []string
	for c := 'a'; c <= 'z'; c++ {
		text = append(text, string(c)+" = '"+string(c)+"'")
		words = append(words, string(c)+"="+string(c))
	}
	if got := evaluate(strings.Join(text, " AND "), words...); got != "TRUE" {
		t.Error(got)
	}
	if got := evaluate(strings.Join(text, " AND "), words[:25]...); got != "NULL" {
		t.Error(got)
	}
}

func TestCache(t *testing.T) {
	c := NewCache()
	e1, err := c.Compile("a = 1")
	if err != nil {
		t.Fatal(err)
	}
	if e2, _ := c.Compile("a = 1"); e1 != e2 {
		t.Error("compiled twice")
	}
	_, err1 := c.Compile("a =")
	if _, err2 := c.Compile("a ="); err1 == nil || err1 != err2 {
		t.Error("an error is not kept")
	}
	for i := range 3 * cacheEntries {
		if _, err := c.Compile("a = 'x" + strings.Repeat("y", i) + "'"); err != nil {
			t.Fatal(err)
		}
		c.Compile("a = 1")
	}
	if n := c.Len(); n != cacheEntries {
		t.Errorf("%d entries", n)
	}
	if e2, _ := c.Compile("a = 1"); e1 != e2 {
		t.Error("one that is used was dropped")
	}
	for i := range 40 {
		c.Compile("a = '" + strings.Repeat("y", MaxLength-100+i) + "'")
	}
	if c.Len() > cacheBytes/(MaxLength-100) || c.bytes > cacheBytes {
		t.Errorf("%d entries, %d bytes", c.Len(), c.bytes)
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	p := props("KEYS=k", "region=south", "a=5.5", "b=1e400", "c=Infinity", "d=abc", "TAGS=even", "n=-12")
	for _, text := range []string{
		"(TAGS is not null and TAGS in ('even')) and a between 2 and 7 and region = 'south'", "a > 5 and b > 1 and c > 1 and n < 0", "NOT (d > 5)",
		"d IN ('1','2','3','4','5','6','7','8','9','10') OR d CONTAINS 'b'", "a = b = c = d = e = f = g = h = i = j = k", "d = TRUE",
	} {
		e, err := Compile(text)
		if err != nil {
			t.Fatal(text, err)
		}
		if n := testing.AllocsPerRun(100, func() { e.Match(p) }); n > 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

// TestFindIsExact looks for names among longer names, values that look like properties, empty values and repetitions.
func TestFindIsExact(t *testing.T) {
	for _, c := range []struct{ props, want string }{
		{"", ""},
		{"a\x01", ""},
		{"a\x01\x02", ""},
		{"a\x011", "1"},
		{"a\x011\x02", "1"},
		{"aa\x012\x02", ""},
		{"ba\x012\x02a\x011\x02", "1"},
		{"b\x01a\x01x\x02", ""},
		{"b\x01xa\x01y\x02a\x01z", "z"},
		{"a\x011\x02a\x012\x02", "2"},
		{"a\x011\x02a\x01\x02", "1"},
		{"a\x01a\x01b\x02", "a\x01b"},
		{"\x02\x02a\x015\x02", "5"},
		{"a\x02a\x01\x02b\x01a\x01", ""},
	} {
		from, to := find([]byte(c.props), []byte("a\x01"))
		if got := c.props[from:to]; got != c.want {
			t.Errorf("%q: %q, want %q", c.props, got, c.want)
		}
	}
}
