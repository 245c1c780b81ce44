package offline

import (
	"fmt"
	"io"
)

// State is how good a store, or a part of it, is. Greater is worse; the numbers are the exit codes of mqstore check.
type State int

// States.
const (
	Good State = iota
	// Repairable: nothing that the log has is lost; a broker's start or Rebuild puts it right.
	Repairable
	// Lost: messages, or settings, that were there are not, or are damaged.
	Lost
	// Unreadable: no verdict, for a file could not be read.
	Unreadable
)

var stateNames = [...]string{"good", "repairable", "DAMAGED", "NOT READABLE"}

// String is the state in a word or two.
func (s State) String() string { return stateNames[s] }

// Part is what Check found of one part of a store.
type Part struct {
	Name     string
	State    State
	Summary  string
	Findings []Finding
	More     int // findings beyond those kept
}

// Finding is one thing that is not as it should be, or worth knowing (Good).
type Finding struct {
	State State
	Text  string
}

// maxFindings are kept of each part.
const maxFindings = 20

// note adds a finding.
func (p *Part) note(s State, format string, a ...any) {
	p.State = max(p.State, s)
	if len(p.Findings) == maxFindings {
		p.More++
		return
	}
	p.Findings = append(p.Findings, Finding{s, fmt.Sprintf(format, a...)})
}

// Report is what Check found.
type Report struct {
	Root   string
	Layout *Layout
	Parts  []*Part
}

// State is that of the worst part.
func (r *Report) State() State {
	s := Good
	for _, p := range r.Parts {
		s = max(s, p.State)
	}
	return s
}

// advice says what to do about a state.
var advice = [...]string{
	"nothing to do",
	"no message is lost; a broker's start or \"mqstore rebuild\" puts it right",
	"what was lost is gone; a broker's start keeps what is good and puts the rest aside in torn/ and bad/",
	"no verdict",
}

// Print writes the report in words.
func (r *Report) Print(w io.Writer) error {
	var err error
	line := func(format string, a ...any) {
		if err == nil {
			_, err = fmt.Fprintf(w, format+"\n", a...)
		}
	}
	l := r.Layout
	line("%s: log files of %d bytes, queue files of %d units, index files of %d slots and %d entries", r.Root, l.LogFileSize,
		l.QueueFileUnits, l.IndexShape.Slots, l.IndexShape.Entries)
	for _, p := range r.Parts {
		line("%-11s %-11s %s", p.Name, p.State, p.Summary)
		for _, f := range p.Findings {
			line("            - %s", f.Text)
		}
		if p.More > 0 {
			line("            - and %d more", p.More)
		}
	}
	line("%s: %s", r.State(), advice[r.State()])
	return err
}
