package protocol

import "testing"

func TestSmoke(t *testing.T) {
	for _, ser := range []SerializeType{0, 1} {
		c := NewRequest(ReqPopMessage, nil, []byte("body"))
		c.Serialize = ser
		c.Remark = "ré\n\"\\ \x01"
		c.Ext = ExtFields{{"a", "b\x01c\x02"}, {"topic", "T"}}
		f := AppendFrame(nil, c)
		var d Command
		if err := DecodeFrame(f[4:], &d); err != nil {
			t.Fatal(err)
		}
		d2 := d.Clone()
		if d2.Remark != c.Remark || d2.Ext[0].Value != c.Ext[0].Value || d2.Code != c.Code || string(d2.Body) != "body" || d2.Language != LanguageGo {
			t.Fatalf("%+v", d2)
		}
	}
}
