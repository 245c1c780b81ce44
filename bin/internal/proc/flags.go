package proc

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Flag is one option of a program in RocketMQ's style.
type Flag struct {
	Name  string // long name
	Short string // one letter, or ""
	Usage string
	// Value and Bool receive the argument; exactly one is set. What they hold before is the default.
	Value *string
	Bool  *bool
}

// FlagSet parses a command line as commons-cli's DefaultParser does: -c file, -cfile, --configFile file, --configFile=file,
// -configFile file, and long names cut short where that leaves only one.
type FlagSet struct {
	program string
	flags   []Flag
	help    bool
}

// NewFlagSet makes a set with flags, in any order, and -h.
func NewFlagSet(program string, flags ...Flag) *FlagSet {
	s := &FlagSet{program: program}
	s.flags = append(slices.Clone(flags), Flag{Name: "help", Short: "h", Usage: "Print help", Bool: &s.help})
	slices.SortFunc(s.flags, func(a, b Flag) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return s
}

// Parse reads args. It returns done = true when the program has nothing more to do: after -h with status 0, after a mistake
// with status 1.
func (s *FlagSet) Parse(args []string, stdout, stderr io.Writer) (status int, done bool) {
	fs := pflag.NewFlagSet(s.program, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	for _, f := range s.flags {
		if f.Bool != nil {
			fs.BoolVarP(f.Bool, f.Name, f.Short, *f.Bool, f.Usage)
		} else {
			fs.StringVarP(f.Value, f.Name, f.Short, *f.Value, f.Usage)
		}
	}
	args, err := s.normalise(args)
	if err == nil {
		err = fs.Parse(args)
	}
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("unexpected argument: %s", fs.Arg(0))
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, err)
		s.usage(stdout)
		return 1, true
	case s.help:
		s.usage(stdout)
		return 0, true
	}
	return 0, false
}

// normalise writes every long option as --name, so that pflag knows it.
func (s *FlagSet) normalise(args []string) ([]string, error) {
	out := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			return append(out, args[i:]...), nil
		}
		name, value, hasValue := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if !strings.HasPrefix(a, "-") || len(name) < 2 {
			out = append(out, a)
			if f := s.short(name); f != nil && f.Value != nil && !hasValue && strings.HasPrefix(a, "-") && i+1 < len(args) {
				i++
				out = append(out, args[i])
			}
			continue
		}
		f, err := s.long(name)
		if err != nil {
			return nil, err
		}
		switch {
		case f == nil && strings.HasPrefix(a, "--"):
			return nil, fmt.Errorf("Unrecognized option: %s", a)
		case f == nil: // -cfile
			out = append(out, a)
		case hasValue:
			out = append(out, "--"+f.Name+"="+value)
		case f.Value != nil && i+1 < len(args):
			i++
			out = append(out, "--"+f.Name+"="+args[i])
		default:
			out = append(out, "--"+f.Name)
		}
	}
	return out, nil
}

func (s *FlagSet) short(letter string) *Flag {
	for i := range s.flags {
		if s.flags[i].Short == letter && letter != "" {
			return &s.flags[i]
		}
	}
	return nil
}

// long finds the flag that name begins, nil when there is none.
func (s *FlagSet) long(name string) (*Flag, error) {
	var found []*Flag
	for i := range s.flags {
		if s.flags[i].Name == name {
			return &s.flags[i], nil
		}
		if strings.HasPrefix(s.flags[i].Name, name) {
			found = append(found, &s.flags[i])
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("Ambiguous option: %q could be --%s or --%s", name, found[0].Name, found[1].Name)
}

func (s *FlagSet) usage(w io.Writer) {
	fmt.Fprintf(w, "usage: %s", s.program)
	for _, f := range s.flags {
		fmt.Fprintf(w, " [%s]", f.head(false))
	}
	fmt.Fprintln(w)
	width := 0
	for _, f := range s.flags {
		width = max(width, len(f.head(true)))
	}
	for _, f := range s.flags {
		fmt.Fprintf(w, " %-*s   %s\n", width, f.head(true), f.Usage)
	}
}

// head is "-c <arg>" or, with both names, "-c,--configFile <arg>".
func (f *Flag) head(both bool) string {
	h := "--" + f.Name
	switch {
	case both && f.Short != "":
		h = "-" + f.Short + "," + h
	case f.Short != "":
		h = "-" + f.Short
	case both:
		h = "   " + h
	}
	if f.Value != nil {
		h += " <arg>"
	}
	return h
}
