package protocol

// Language says which client library sent a frame: a number in the binary header, a name in the JSON one.
type Language uint8

// Language codes of Java's LanguageCode. LanguageUnknown stands for names and numbers outside the table
// and is written as OTHER.
const (
	LanguageJava    Language = 0
	LanguageCPP     Language = 1
	LanguageDotNet  Language = 2
	LanguagePython  Language = 3
	LanguageDelphi  Language = 4
	LanguageErlang  Language = 5
	LanguageRuby    Language = 6
	LanguageOther   Language = 7
	LanguageHTTP    Language = 8
	LanguageGo      Language = 9
	LanguagePHP     Language = 10
	LanguageOMS     Language = 11
	LanguageRust    Language = 12
	LanguageNodeJS  Language = 13
	LanguageUnknown Language = 255
)

var languageNames = [...]string{
	"JAVA", "CPP", "DOTNET", "PYTHON", "DELPHI", "ERLANG", "RUBY", "OTHER", "HTTP", "GO", "PHP", "OMS", "RUST", "NODE_JS",
}

// String returns the Java name; OTHER for a code outside the table.
func (l Language) String() string {
	if int(l) < len(languageNames) {
		return languageNames[l]
	}
	return "OTHER"
}

// LanguageByName finds a language by its Java name, in exactly that spelling. LanguageUnknown if there is none.
func LanguageByName(name string) Language {
	switch name { // the two that send nearly all frames
	case "JAVA":
		return LanguageJava
	case "GO":
		return LanguageGo
	}
	for i, n := range languageNames {
		if n == name {
			return Language(i)
		}
	}
	return LanguageUnknown
}

// MarshalText writes the Java name, as JSON bodies have it.
func (l Language) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a Java name; unknown names become LanguageUnknown, as Java reads them as null.
func (l *Language) UnmarshalText(b []byte) error {
	*l = LanguageByName(string(b))
	return nil
}
