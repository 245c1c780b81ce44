package protocol

import (
	"encoding/json"
	"strconv"
)

// DataVersion is the version of a table: two are equal only if all three numbers are.
type DataVersion struct {
	Counter      int64 `json:"counter"`
	StateVersion int64 `json:"stateVersion"`
	Timestamp    int64 `json:"timestamp"` // ms
}

// Next returns the version after a change at nowMs under the given state version (0, or the master's epoch).
func (d DataVersion) Next(nowMs, stateVersion int64) DataVersion {
	return DataVersion{Counter: d.Counter + 1, StateVersion: stateVersion, Timestamp: nowMs}
}

// Compare orders versions by state version, counter, timestamp.
func (d DataVersion) Compare(o DataVersion) int {
	for _, p := range [...][2]int64{{d.StateVersion, o.StateVersion}, {d.Counter, o.Counter}, {d.Timestamp, o.Timestamp}} {
		if c := compareInt(p[0], p[1]); c != 0 {
			return c
		}
	}
	return 0
}

// String is the JSON text of the version, as headers carry it.
func (d DataVersion) String() string {
	return `{"counter":` + strconv.FormatInt(d.Counter, 10) + `,"stateVersion":` + strconv.FormatInt(d.StateVersion, 10) +
		`,"timestamp":` + strconv.FormatInt(d.Timestamp, 10) + `}`
}

// ParseDataVersion reads the JSON text of a version; ok is false for a blank or broken one.
func ParseDataVersion(s string) (d DataVersion, ok bool) {
	if s == "" {
		return d, false
	}
	return d, UnmarshalFast([]byte(s), &d) == nil
}

// KVTable is a table of texts: GET_KVLIST_BY_NAMESPACE, GET_BROKER_RUNTIME_INFO, the reply of REGISTER_BROKER.
type KVTable struct {
	Table map[string]string `json:"table"`
}

// LenientInt is a number that some clients write as a string.
type LenientInt int32

// UnmarshalJSON reads 5 and "5".
func (n *LenientInt) UnmarshalJSON(b []byte) error {
	var s json.Number // takes both
	if err := json.Unmarshal(b, &s); err != nil || s == "" {
		return err
	}
	v, ok := parseInt32(string(s))
	if !ok {
		return &SyntaxError{Reason: "not a 32-bit integer: " + string(s)}
	}
	*n = LenientInt(v)
	return nil
}

// Connection is a client connection in CONSUMER_CONNECTION and PRODUCER_CONNECTION bodies.
type Connection struct {
	ClientAddr string   `json:"clientAddr"`
	ClientID   string   `json:"clientId"`
	Language   Language `json:"language"`
	Version    int32    `json:"version"`
}

// TopicList is the body of 206, 224, 304, 305, 311–313 and 343.
type TopicList struct {
	BrokerAddr string   `json:"brokerAddr,omitempty"`
	TopicList  []string `json:"topicList"`
}
