package proc

import (
	"strings"
	"testing"
)

func parse(args ...string) (file, addr string, all bool, status int, done bool, out, errs string) {
	var stdout, stderr strings.Builder
	s := NewFlagSet("mqbroker",
		Flag{Name: "configFile", Short: "c", Usage: "File", Value: &file},
		Flag{Name: "namesrvAddr", Short: "n", Usage: "Addresses", Value: &addr},
		Flag{Name: "printConfigItem", Short: "p", Usage: "Print", Bool: &all},
		Flag{Name: "printImportantConfig", Short: "m", Usage: "Print some", Bool: new(bool)},
		Flag{Name: "logLevel", Usage: "Level", Value: new(string)})
	status, done = s.Parse(args, &stdout, &stderr)
	return file, addr, all, status, done, stdout.String(), stderr.String()
}

func TestSpellings(t *testing.T) {
	for _, args := range []string{
		"-c a.conf -n h:1 -p", "-ca.conf -nh:1 -p", "--configFile a.conf --namesrvAddr h:1 --printConfigItem",
		"--configFile=a.conf --namesrvAddr=h:1 -p", "-configFile a.conf -namesrvAddr=h:1 --printC", "--conf a.conf --name h:1 -p",
		"-c=a.conf -n=h:1 -p", "-p -n h:1 -c a.conf",
	} {
		file, addr, all, status, done, out, errs := parse(strings.Fields(args)...)
		if file != "a.conf" || addr != "h:1" || !all || status != 0 || done {
			t.Errorf("%s: file %q, addr %q, p %v, status %d, done %v, %s%s", args, file, addr, all, status, done, out, errs)
		}
	}
}

func TestAValueMayLookLikeAnOption(t *testing.T) {
	if file, _, _, _, done, _, errs := parse("-c", "-p"); file != "-p" || done {
		t.Errorf("file %q, done %v, %s", file, done, errs)
	}
}

func TestMistakesGiveUsageAndStatus1(t *testing.T) {
	for args, want := range map[string]string{
		"--nope": "Unrecognized option: --nope", "-x": "unknown shorthand flag", "--print": "Ambiguous option",
		"-c": "needs an argument", "word": "unexpected argument: word",
	} {
		_, _, _, status, done, out, errs := parse(strings.Fields(args)...)
		if status != 1 || !done || !strings.Contains(errs, want) || !strings.HasPrefix(out, "usage: mqbroker [-c <arg>] [-h]") {
			t.Errorf("%s: status %d, done %v, stdout %q, stderr %q, want %q", args, status, done, out, errs, want)
		}
	}
}

func TestHelp(t *testing.T) {
	_, _, _, status, done, out, errs := parse("-h")
	want := `usage: mqbroker [-c <arg>] [-h] [--logLevel <arg>] [-n <arg>] [-p] [-m]
 -c,--configFile <arg>       File
 -h,--help                   Print help
    --logLevel <arg>         Level
 -n,--namesrvAddr <arg>      Addresses
 -p,--printConfigItem        Print
 -m,--printImportantConfig   Print some
`
	if status != 0 || !done || out != want || errs != "" {
		t.Errorf("status %d, done %v, stderr %q, stdout:\n%s", status, done, errs, out)
	}
}
