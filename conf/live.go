package conf

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Live is the configuration of a running process: an immutable snapshot that updates replace. T is a struct of config structs,
// such as BrokerProcess. All methods are safe for concurrent use.
type Live[T any] struct {
	cur atomic.Pointer[T]

	// mu serialises updates; file writes happen under it, which holds up nothing but other updates.
	mu struct {
		sync.Mutex
		base     T                 // defaults, before the file
		path     string            // "" when the process was started without a file
		src      *Source           // nil without a file
		override map[string]string // from flags: wins over the file
		watch    []func(old, now *T)
	}
}

// Change is one key that got another value.
type Change struct{ Key, Old, New string }

// Refusal says why a key was not updated.
type Refusal struct {
	Key, Reason string
	// BlackListed: the key is in configBlackList.
	BlackListed bool
}

// UpdateError is returned by Update when at least one key was refused; then nothing was changed.
type UpdateError struct{ Refused []Refusal }

// BlackListRemark is RocketMQ's answer to an update of a black-listed key.
const BlackListRemark = "Can not update config in black list."

// Remark is what the peer is told: Error, but of black-listed keys exactly RocketMQ's sentence, which scripts look for.
func (e *UpdateError) Remark() string {
	if e.BlackListed() {
		return BlackListRemark
	}
	return e.Error()
}

// BlackListed says that a key of the request is in configBlackList.
func (e *UpdateError) BlackListed() bool {
	return slices.ContainsFunc(e.Refused, func(r Refusal) bool { return r.BlackListed })
}

func (e *UpdateError) Error() string {
	var parts []string
	for _, r := range e.Refused {
		parts = append(parts, r.Key+": "+r.Reason)
	}
	text := strings.Join(parts, "; ")
	if e.BlackListed() {
		return BlackListRemark + " " + text
	}
	return text
}

// NewLive returns a configuration without a file: updates last until the process ends.
func NewLive[T any](v T) *Live[T] {
	l := &Live[T]{}
	l.mu.base = v
	l.cur.Store(&v)
	return l
}

// Start reads the file at path ("" = none) over the defaults, then the overrides from flags, and returns the configuration with
// everything worth a warning. A problem with Refuse set means that the process must not start.
func Start[T any](defaults T, path string, override map[string]string) (*Live[T], []Problem, error) {
	l := NewLive(defaults)
	l.mu.path, l.mu.override = path, maps.Clone(override)
	v, src, problems, err := l.readLocked()
	if err != nil {
		return nil, nil, err
	}
	l.mu.src = src
	l.cur.Store(v)
	return l, problems, nil
}

// readLocked computes the value that the defaults, the file and the flags give.
func (l *Live[T]) readLocked() (*T, *Source, []Problem, error) {
	v := l.mu.base
	var src *Source
	var problems []Problem
	if l.mu.path != "" {
		var err error
		if src, err = Read(l.mu.path); err != nil {
			return nil, nil, nil, err
		}
		problems = src.Apply(&v)
	}
	for _, key := range slices.Sorted(maps.Keys(l.mu.override)) {
		if err := setKey(&v, key, l.mu.override[key]); err != nil {
			return nil, nil, nil, err
		}
	}
	more, err := applyTLSFile(&v)
	return &v, src, append(problems, more...), err
}

// Get returns the current snapshot. It must not be modified.
func (l *Live[T]) Get() *T { return l.cur.Load() }

// Watch has fn called after every change, on the goroutine that made it. fn must not call Update, Reload or Watch.
func (l *Live[T]) Watch(fn func(old, now *T)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.watch = append(l.mu.watch, fn)
}

// Update applies a property text from a remote peer. Only keys marked live may change; paths, addresses, ports and commands
// never are. Either all keys are taken or none, then with an *UpdateError. With a file, the changed lines are saved first:
// when that fails nothing is changed.
func (l *Live[T]) Update(body []byte) ([]Change, error) {
	entries, err := ParseText(body)
	if err != nil {
		return nil, &UpdateError{[]Refusal{{Key: "body", Reason: err.Error()}}}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.cur.Load()
	next := *old
	changes, err := update(&next, entries)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	if l.mu.path != "" {
		src, err := saveChanges(l.mu.path, changes)
		if err != nil {
			return nil, fmt.Errorf("nothing was changed, the configuration file could not be saved: %w", err)
		}
		l.mu.src = src
	}
	l.swapLocked(old, &next)
	return changes, nil
}

// Persistent reports whether updates outlive the process.
func (l *Live[T]) Persistent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.path != ""
}

// ErrNoFile is returned by Reload of a process that was started without a configuration file.
var ErrNoFile = errors.New("conf: started without a configuration file")

// Reloaded says what a Reload did.
type Reloaded struct {
	Changed      []Change
	NeedsRestart []Change // differ in the file, but cannot change while running
	Problems     []Problem
}

// Reload reads the file again and applies what may change while running.
func (l *Live[T]) Reload() (Reloaded, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.path == "" {
		return Reloaded{}, ErrNoFile
	}
	want, src, problems, err := l.readLocked()
	if err != nil {
		return Reloaded{}, err
	}
	r := Reloaded{Problems: problems}
	old := l.cur.Load()
	next := *old
	wanted := fieldsOf(want)
	for i, f := range fieldsOf(&next) {
		c := Change{Key: f.key, Old: f.text(), New: wanted[i].text()}
		switch {
		case c.Old == c.New:
		case f.live, f.reload:
			f.v.Set(wanted[i].v)
			r.Changed = append(r.Changed, c)
		default:
			r.NeedsRestart = append(r.NeedsRestart, c)
		}
	}
	l.mu.src = src
	if len(r.Changed) > 0 {
		l.swapLocked(old, &next)
	}
	return r, nil
}

func (l *Live[T]) swapLocked(old, next *T) {
	l.cur.Store(next)
	for _, fn := range l.mu.watch {
		fn(old, next)
	}
}

// Text is the answer to GET_*_CONFIG: every key that is read and every other key of the file, sorted, one key=value per line.
// Empty values are left out, as Java leaves out null.
func (l *Live[T]) Text() string {
	l.mu.Lock()
	src := l.mu.src
	l.mu.Unlock()
	return dumpText(l.cur.Load(), src)
}

// update sets entries on target, or returns an *UpdateError.
func update(target any, entries []Entry) ([]Change, error) {
	fields := map[string][]field{}
	for _, f := range fieldsOf(target) {
		fields[f.key] = append(fields[f.key], f)
	}
	black := ""
	if fs := fields["configBlackList"]; len(fs) > 0 {
		black = fs[0].text()
	}
	var changes []Change
	var refused []Refusal
	for _, e := range entries {
		if slices.Contains(strings.Split(black, ";"), e.Key) {
			refused = append(refused, Refusal{Key: e.Key, Reason: "is in configBlackList", BlackListed: true})
			continue
		}
		c, reason := updateOne(fields[e.Key], e)
		if reason != "" {
			refused = append(refused, Refusal{Key: e.Key, Reason: reason})
		} else if c.Old != c.New {
			changes = append(changes, c)
		}
	}
	if len(refused) > 0 {
		return nil, &UpdateError{refused}
	}
	return changes, nil
}

func updateOne(fs []field, e Entry) (Change, string) {
	if len(fs) == 0 {
		c := theCatalogue()
		if _, ok := c.inert[e.Key]; ok {
			return Change{}, "has no effect in this version"
		}
		if near := c.nearest(e.Key); near != "" {
			return Change{}, "unknown key, did you mean " + near + "?"
		}
		return Change{}, "unknown key"
	}
	c := Change{Key: e.Key, Old: fs[0].text()}
	if !fs[0].live {
		if strings.TrimSpace(e.Value) != c.Old {
			return c, "cannot be changed remotely; set it in the configuration file and restart"
		}
		c.New = c.Old
		return c, ""
	}
	for i := range fs {
		if note, err := fs[i].set(strings.TrimSpace(e.Value)); err != nil {
			return c, err.Error()
		} else if note != "" {
			return c, note
		}
	}
	c.New = fs[0].text()
	return c, ""
}

// setKey sets one key by its text, strictly.
func setKey(target any, key, value string) error {
	found := false
	for _, f := range fieldsOf(target) {
		if f.key != key {
			continue
		}
		found = true
		if note, err := f.set(value); err != nil || note != "" {
			return fmt.Errorf("%s: %w", key, errors.Join(err, noteError(note)))
		}
	}
	if !found {
		return fmt.Errorf("%s: not a key of this program", key)
	}
	return nil
}

func noteError(note string) error {
	if note == "" {
		return nil
	}
	return errors.New(note)
}

// applyTLSFile adds the tls.* keys of the file that tls.config.file names. Those that decide whether there is TLS at all
// cannot come from it.
func applyTLSFile(target any) ([]Problem, error) {
	path := ""
	for _, f := range fieldsOf(target) {
		if f.key == "tls.config.file" {
			path = f.text()
		}
	}
	if path == "" {
		return nil, nil
	}
	src, err := Read(path)
	if err != nil {
		return nil, fmt.Errorf("tls.config.file: %w", err)
	}
	src.Entries = slices.DeleteFunc(src.Entries, func(e Entry) bool {
		return !strings.HasPrefix(e.Key, "tls.") || e.Key == "tls.server.mode" || e.Key == "tls.enable" || e.Key == "tls.config.file"
	})
	return src.Apply(target), nil
}
