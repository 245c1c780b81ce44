package protocol

import (
	"fmt"
	"strconv"
	"strings"
)

// Versions that rules of the protocol depend on: ordinals of Java's MQVersion.
const (
	VersionV3_0_7Snapshot int32 = 28  // first that takes GET_CONSUMER_STATUS_FROM_CLIENT and RESET_CONSUMER_CLIENT_OFFSET
	VersionV3_0_11        int32 = 37  // REGISTER_BROKER: body is RegisterBrokerBody from here on
	VersionV3_1_8Snapshot int32 = 62  // first that takes GET_CONSUMER_RUNNING_INFO and CONSUME_MESSAGE_DIRECTLY
	VersionV3_4_9         int32 = 121 // maxReconsumeTimes of a send request is honoured from here on
	VersionV4_1_0Snapshot int32 = 232 // clients refuse SQL92 against a broker below this
	VersionV4_9_3         int32 = 399 // up to here _UNIQUE_KEY_QUERY is not signed
	VersionV4_9_4         int32 = 401 // route replies are standard JSON from here on
	VersionV5_0_0         int32 = 413 // compressed register bodies carry static topics from here on
	VersionV5_3_1         int32 = 475 // GO_AWAY only above
	VersionV5_5_0         int32 = 513

	versionHigher = 612 // HIGHER_VERSION, the last ordinal
)

// v3_0Names are the ordinals 0 to 15, from before the table became regular.
var v3_0Names = [...]string{
	"V3_0_0_SNAPSHOT", "V3_0_0_ALPHA1", "V3_0_0_BETA1", "V3_0_0_BETA2", "V3_0_0_BETA3", "V3_0_0_BETA4", "V3_0_0_BETA5",
	"V3_0_0_BETA6_SNAPSHOT", "V3_0_0_BETA6", "V3_0_0_BETA7_SNAPSHOT", "V3_0_0_BETA7", "V3_0_0_BETA8_SNAPSHOT",
	"V3_0_0_BETA8", "V3_0_0_BETA9_SNAPSHOT", "V3_0_0_BETA9", "V3_0_0_FINAL",
}

// minorVersions counts the patch releases of each minor version as the enum lists them, a snapshot and a release each.
// from is the first patch number; ordinals follow on from row to row.
var minorVersions = buildMinorVersions()

type minorVersion struct{ major, minor, from, count, ordinal int }

func buildMinorVersions() []minorVersion {
	rows := []minorVersion{{3, 0, 1, 15, 16}, {3, 1, 0, 10, 46}, {3, 2, 0, 10, 66}}
	ordinal := 86
	for minor := 3; minor <= 9; minor++ {
		rows = append(rows, minorVersion{3, minor, 1, 9, ordinal})
		ordinal += 18
	}
	for major := 4; major <= 5; major++ {
		for minor := 0; minor <= 9; minor++ {
			rows = append(rows, minorVersion{major, minor, 0, 10, ordinal})
			ordinal += 20
		}
	}
	return rows
}

// VersionName returns the Java name of a version ordinal, as mqadmin prints it: HIGHER_VERSION beyond the table,
// "" for a negative one.
func VersionName(ordinal int32) string {
	n := int(ordinal)
	switch {
	case n < 0:
		return ""
	case n < len(v3_0Names):
		return v3_0Names[n]
	case n >= versionHigher:
		return "HIGHER_VERSION"
	}
	for _, m := range minorVersions {
		if i := n - m.ordinal; i < 2*m.count {
			name := fmt.Sprintf("V%d_%d_%d", m.major, m.minor, m.from+i/2)
			if i%2 == 0 {
				name += "_SNAPSHOT"
			}
			return name
		}
	}
	return "HIGHER_VERSION"
}

// VersionByName is the inverse of VersionName.
func VersionByName(name string) (ordinal int32, ok bool) {
	if name == "HIGHER_VERSION" {
		return versionHigher, true
	}
	for i, n := range v3_0Names {
		if n == name {
			return int32(i), true
		}
	}
	text, snapshot := strings.CutSuffix(name, "_SNAPSHOT")
	parts := strings.Split(strings.TrimPrefix(text, "V"), "_")
	if len(parts) != 3 {
		return 0, false
	}
	var v [3]int
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil {
			return 0, false
		}
		v[i] = n
	}
	for _, m := range minorVersions {
		if i := v[2] - m.from; v[0] == m.major && v[1] == m.minor && i >= 0 && i < m.count {
			ordinal = int32(m.ordinal + 2*i)
			if !snapshot {
				ordinal++
			}
			return ordinal, VersionName(ordinal) == name
		}
	}
	return 0, false
}
