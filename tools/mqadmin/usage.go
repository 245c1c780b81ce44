package mqadmin

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// usageWidth is the line width of Java's usage texts.
const usageWidth = 110

// writeUsage prints the usage of a command in the layout of commons-cli's HelpFormatter.
func writeUsage(w io.Writer, name string, opts []option) {
	opts = slices.DeleteFunc(slices.Clone(opts), func(o option) bool { return o.hidden })
	slices.SortStableFunc(opts, func(a, b option) int {
		return strings.Compare(strings.ToLower(a.key()), strings.ToLower(b.key()))
	})
	writeWrapped(w, len("usage: "), "usage: mqadmin "+name+" "+synopsis(opts))
	left := 0
	for i := range opts {
		left = max(left, len(optionColumn(&opts[i])))
	}
	for i := range opts {
		col := optionColumn(&opts[i])
		writeWrapped(w, left+3, col+strings.Repeat(" ", left+3-len(col))+opts[i].help)
	}
}

func synopsis(opts []option) string {
	var parts []string
	done := map[string]bool{}
	for i := range opts {
		o := &opts[i]
		switch {
		case o.group == "" && o.required:
			parts = append(parts, optionWord(o))
		case o.group == "":
			parts = append(parts, "["+optionWord(o)+"]")
		case !done[o.group]:
			done[o.group] = true
			var alt []string
			for j := range opts {
				if opts[j].group == o.group {
					alt = append(alt, optionWord(&opts[j]))
				}
			}
			parts = append(parts, strings.Join(alt, " | "))
		}
	}
	return strings.Join(parts, " ")
}

func optionWord(o *option) string {
	s := "--" + o.long
	if o.short != "" {
		s = "-" + o.short
	}
	if o.arg {
		s += " <arg>"
	}
	return s
}

func optionColumn(o *option) string {
	s := " "
	switch {
	case o.short == "":
		s += "   --" + o.long
	case o.long == "":
		s += "-" + o.short
	default:
		s += "-" + o.short + ",--" + o.long
	}
	if o.arg {
		s += " <arg>"
	}
	return s
}

// writeWrapped prints text in lines of at most usageWidth; all but the first begin with indent blanks.
func writeWrapped(w io.Writer, indent int, text string) {
	for first := true; ; first = false {
		if !first {
			text = strings.Repeat(" ", indent) + text
		}
		if len(text) <= usageWidth {
			fmt.Fprintln(w, strings.TrimRight(text, " "))
			return
		}
		at := strings.LastIndex(text[:usageWidth+1], " ")
		if at <= indent {
			at = usageWidth
		}
		fmt.Fprintln(w, strings.TrimRight(text[:at], " "))
		text = strings.TrimLeft(text[at:], " ")
	}
}
