package namesrv

// Configuration: KV tables 100, 101, 102, 219, and the server's own keys 318, 319. Java: DefaultRequestProcessor, KVConfigManager.
//
// Differs: an update takes all of its keys or none; only keys that may change while running can be set, never a path or an
// address (CVE-2023-37582), and the refusal names the key; the file keeps its comments.

import (
	"errors"
	"strings"

	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func (s *Server) putKV(_ remoting.Conn, req *protocol.Command) (*remoting.Reply, error) {
	var h protocol.PutKVConfigRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		return nil, err
	}
	if err := s.kv.put(strings.Clone(h.Namespace), strings.Clone(h.Key), strings.Clone(h.Value)); err != nil {
		return nil, err
	}
	s.kvChanged(h.Namespace, h.Key)
	return ok(), nil
}

func (s *Server) getKV(_ remoting.Conn, req *protocol.Command) (*remoting.Reply, error) {
	var h protocol.GetKVConfigRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		return nil, err
	}
	v, has := s.kv.get(h.Namespace, h.Key)
	if !has {
		return nil, &refused{protocol.RespQueryNotFound, "No config item, Namespace: " + h.Namespace + " Key: " + h.Key}
	}
	r := ok()
	r.Header = &protocol.GetKVConfigResponseHeader{Value: v}
	return r, nil
}

func (s *Server) deleteKV(_ remoting.Conn, req *protocol.Command) (*remoting.Reply, error) {
	var h protocol.DeleteKVConfigRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		return nil, err
	}
	if err := s.kv.remove(h.Namespace, h.Key); err != nil {
		return nil, err
	}
	s.kvChanged(h.Namespace, h.Key)
	return ok(), nil
}

// kvChanged drops the kept route that shows the key.
func (s *Server) kvChanged(namespace, key string) {
	if namespace == orderNamespace {
		s.table.Invalidate(key)
	}
}

func (s *Server) listKV(_ remoting.Conn, req *protocol.Command) (*remoting.Reply, error) {
	var h protocol.GetKVListByNamespaceRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		return nil, err
	}
	kvs, has := s.kv.list(h.Namespace)
	if !has {
		return nil, &refused{protocol.RespQueryNotFound, "No config item, Namespace: " + h.Namespace}
	}
	return okJSON(protocol.KVTable{Table: kvs})
}

func (s *Server) updateConfig(c remoting.Conn, req *protocol.Command) (*remoting.Reply, error) {
	changes, err := s.live.Update(req.Body)
	var ue *conf.UpdateError
	if errors.As(err, &ue) {
		s.o.Log.Warnf("%v may not update the configuration: %v", c.RemoteAddr(), err)
		return nil, &refused{protocol.RespNoPermission, ue.Remark()}
	}
	if err != nil {
		return nil, err
	}
	for _, ch := range changes {
		s.o.Log.Infof("%v changed %s from %q to %q", c.RemoteAddr(), ch.Key, ch.Old, ch.New)
	}
	return ok(), nil
}

func (s *Server) getConfig(remoting.Conn, *protocol.Command) (*remoting.Reply, error) {
	return &remoting.Reply{Code: protocol.RespSuccess, Body: []byte(s.live.Text())}, nil
}
