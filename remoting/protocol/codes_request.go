// Request codes of the RocketMQ remoting protocol, named as in Java's RequestCode.

package protocol

// RequestCode is the code of a request command (frame field "code").
type RequestCode = int32

// Request codes. The words are those of org.apache.rocketmq.remoting.protocol.RequestCode.
const (
	ReqSendMessage                          RequestCode = 10     // SEND_MESSAGE
	ReqPullMessage                          RequestCode = 11     // PULL_MESSAGE
	ReqQueryMessage                         RequestCode = 12     // QUERY_MESSAGE
	ReqQueryBrokerOffset                    RequestCode = 13     // QUERY_BROKER_OFFSET
	ReqQueryConsumerOffset                  RequestCode = 14     // QUERY_CONSUMER_OFFSET
	ReqUpdateConsumerOffset                 RequestCode = 15     // UPDATE_CONSUMER_OFFSET
	ReqUpdateAndCreateTopic                 RequestCode = 17     // UPDATE_AND_CREATE_TOPIC
	ReqUpdateAndCreateTopicList             RequestCode = 18     // UPDATE_AND_CREATE_TOPIC_LIST
	ReqGetAllTopicConfig                    RequestCode = 21     // GET_ALL_TOPIC_CONFIG
	ReqGetTopicConfigList                   RequestCode = 22     // GET_TOPIC_CONFIG_LIST
	ReqGetTopicNameList                     RequestCode = 23     // GET_TOPIC_NAME_LIST
	ReqUpdateBrokerConfig                   RequestCode = 25     // UPDATE_BROKER_CONFIG
	ReqGetBrokerConfig                      RequestCode = 26     // GET_BROKER_CONFIG
	ReqTriggerDeleteFiles                   RequestCode = 27     // TRIGGER_DELETE_FILES
	ReqGetBrokerRuntimeInfo                 RequestCode = 28     // GET_BROKER_RUNTIME_INFO
	ReqSearchOffsetByTimestamp              RequestCode = 29     // SEARCH_OFFSET_BY_TIMESTAMP
	ReqGetMaxOffset                         RequestCode = 30     // GET_MAX_OFFSET
	ReqGetMinOffset                         RequestCode = 31     // GET_MIN_OFFSET
	ReqGetEarliestMsgStoreTime              RequestCode = 32     // GET_EARLIEST_MSG_STORETIME
	ReqViewMessageByID                      RequestCode = 33     // VIEW_MESSAGE_BY_ID
	ReqHeartBeat                            RequestCode = 34     // HEART_BEAT
	ReqUnregisterClient                     RequestCode = 35     // UNREGISTER_CLIENT
	ReqConsumerSendMsgBack                  RequestCode = 36     // CONSUMER_SEND_MSG_BACK
	ReqEndTransaction                       RequestCode = 37     // END_TRANSACTION
	ReqGetConsumerListByGroup               RequestCode = 38     // GET_CONSUMER_LIST_BY_GROUP
	ReqCheckTransactionState                RequestCode = 39     // CHECK_TRANSACTION_STATE
	ReqNotifyConsumerIDsChanged             RequestCode = 40     // NOTIFY_CONSUMER_IDS_CHANGED
	ReqLockBatchMQ                          RequestCode = 41     // LOCK_BATCH_MQ
	ReqUnlockBatchMQ                        RequestCode = 42     // UNLOCK_BATCH_MQ
	ReqGetAllConsumerOffset                 RequestCode = 43     // GET_ALL_CONSUMER_OFFSET
	ReqGetAllDelayOffset                    RequestCode = 45     // GET_ALL_DELAY_OFFSET
	ReqCheckClientConfig                    RequestCode = 46     // CHECK_CLIENT_CONFIG
	ReqGetClientConfig                      RequestCode = 47     // GET_CLIENT_CONFIG
	ReqUpdateAndCreateACLConfig             RequestCode = 50     // UPDATE_AND_CREATE_ACL_CONFIG
	ReqDeleteACLConfig                      RequestCode = 51     // DELETE_ACL_CONFIG
	ReqGetBrokerClusterACLInfo              RequestCode = 52     // GET_BROKER_CLUSTER_ACL_INFO
	ReqUpdateGlobalWhiteAddrsConfig         RequestCode = 53     // UPDATE_GLOBAL_WHITE_ADDRS_CONFIG
	ReqGetBrokerClusterACLConfig            RequestCode = 54     // GET_BROKER_CLUSTER_ACL_CONFIG
	ReqGetTimerCheckPoint                   RequestCode = 60     // GET_TIMER_CHECK_POINT
	ReqGetTimerMetrics                      RequestCode = 61     // GET_TIMER_METRICS
	ReqPutKVConfig                          RequestCode = 100    // PUT_KV_CONFIG
	ReqGetKVConfig                          RequestCode = 101    // GET_KV_CONFIG
	ReqDeleteKVConfig                       RequestCode = 102    // DELETE_KV_CONFIG
	ReqRegisterBroker                       RequestCode = 103    // REGISTER_BROKER
	ReqUnregisterBroker                     RequestCode = 104    // UNREGISTER_BROKER
	ReqGetRouteInfoByTopic                  RequestCode = 105    // GET_ROUTEINFO_BY_TOPIC
	ReqGetBrokerClusterInfo                 RequestCode = 106    // GET_BROKER_CLUSTER_INFO
	ReqUpdateAndCreateSubscriptionGroup     RequestCode = 200    // UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
	ReqGetAllSubscriptionGroupConfig        RequestCode = 201    // GET_ALL_SUBSCRIPTIONGROUP_CONFIG
	ReqGetTopicStatsInfo                    RequestCode = 202    // GET_TOPIC_STATS_INFO
	ReqGetConsumerConnectionList            RequestCode = 203    // GET_CONSUMER_CONNECTION_LIST
	ReqGetProducerConnectionList            RequestCode = 204    // GET_PRODUCER_CONNECTION_LIST
	ReqWipeWritePermOfBroker                RequestCode = 205    // WIPE_WRITE_PERM_OF_BROKER
	ReqGetAllTopicListFromNameServer        RequestCode = 206    // GET_ALL_TOPIC_LIST_FROM_NAMESERVER
	ReqDeleteSubscriptionGroup              RequestCode = 207    // DELETE_SUBSCRIPTIONGROUP
	ReqGetConsumeStats                      RequestCode = 208    // GET_CONSUME_STATS
	ReqSuspendConsumer                      RequestCode = 209    // SUSPEND_CONSUMER
	ReqResumeConsumer                       RequestCode = 210    // RESUME_CONSUMER
	ReqResetConsumerOffsetInConsumer        RequestCode = 211    // RESET_CONSUMER_OFFSET_IN_CONSUMER
	ReqResetConsumerOffsetInBroker          RequestCode = 212    // RESET_CONSUMER_OFFSET_IN_BROKER
	ReqAdjustConsumerThreadPool             RequestCode = 213    // ADJUST_CONSUMER_THREAD_POOL
	ReqWhoConsumeTheMessage                 RequestCode = 214    // WHO_CONSUME_THE_MESSAGE
	ReqDeleteTopicInBroker                  RequestCode = 215    // DELETE_TOPIC_IN_BROKER
	ReqDeleteTopicInNamesrv                 RequestCode = 216    // DELETE_TOPIC_IN_NAMESRV
	ReqRegisterTopicInNamesrv               RequestCode = 217    // REGISTER_TOPIC_IN_NAMESRV
	ReqGetKVListByNamespace                 RequestCode = 219    // GET_KVLIST_BY_NAMESPACE
	ReqResetConsumerClientOffset            RequestCode = 220    // RESET_CONSUMER_CLIENT_OFFSET
	ReqGetConsumerStatusFromClient          RequestCode = 221    // GET_CONSUMER_STATUS_FROM_CLIENT
	ReqInvokeBrokerToResetOffset            RequestCode = 222    // INVOKE_BROKER_TO_RESET_OFFSET
	ReqInvokeBrokerToGetConsumerStatus      RequestCode = 223    // INVOKE_BROKER_TO_GET_CONSUMER_STATUS
	ReqGetTopicsByCluster                   RequestCode = 224    // GET_TOPICS_BY_CLUSTER
	ReqUpdateAndCreateSubscriptionGroupList RequestCode = 225    // UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST
	ReqQueryTopicConsumeByWho               RequestCode = 300    // QUERY_TOPIC_CONSUME_BY_WHO
	ReqRegisterFilterServer                 RequestCode = 301    // REGISTER_FILTER_SERVER
	ReqRegisterMessageFilterClass           RequestCode = 302    // REGISTER_MESSAGE_FILTER_CLASS
	ReqQueryConsumeTimeSpan                 RequestCode = 303    // QUERY_CONSUME_TIME_SPAN
	ReqGetSystemTopicListFromNs             RequestCode = 304    // GET_SYSTEM_TOPIC_LIST_FROM_NS
	ReqGetSystemTopicListFromBroker         RequestCode = 305    // GET_SYSTEM_TOPIC_LIST_FROM_BROKER
	ReqCleanExpiredConsumeQueue             RequestCode = 306    // CLEAN_EXPIRED_CONSUMEQUEUE
	ReqGetConsumerRunningInfo               RequestCode = 307    // GET_CONSUMER_RUNNING_INFO
	ReqQueryCorrectionOffset                RequestCode = 308    // QUERY_CORRECTION_OFFSET
	ReqConsumeMessageDirectly               RequestCode = 309    // CONSUME_MESSAGE_DIRECTLY
	ReqSendMessageV2                        RequestCode = 310    // SEND_MESSAGE_V2
	ReqGetUnitTopicList                     RequestCode = 311    // GET_UNIT_TOPIC_LIST
	ReqGetHasUnitSubTopicList               RequestCode = 312    // GET_HAS_UNIT_SUB_TOPIC_LIST
	ReqGetHasUnitSubUnunitTopicList         RequestCode = 313    // GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST
	ReqCloneGroupOffset                     RequestCode = 314    // CLONE_GROUP_OFFSET
	ReqViewBrokerStatsData                  RequestCode = 315    // VIEW_BROKER_STATS_DATA
	ReqCleanUnusedTopic                     RequestCode = 316    // CLEAN_UNUSED_TOPIC
	ReqGetBrokerConsumeStats                RequestCode = 317    // GET_BROKER_CONSUME_STATS
	ReqUpdateNamesrvConfig                  RequestCode = 318    // UPDATE_NAMESRV_CONFIG
	ReqGetNamesrvConfig                     RequestCode = 319    // GET_NAMESRV_CONFIG
	ReqSendBatchMessage                     RequestCode = 320    // SEND_BATCH_MESSAGE
	ReqQueryConsumeQueue                    RequestCode = 321    // QUERY_CONSUME_QUEUE
	ReqQueryDataVersion                     RequestCode = 322    // QUERY_DATA_VERSION
	ReqResumeCheckHalfMessage               RequestCode = 323    // RESUME_CHECK_HALF_MESSAGE
	ReqSendReplyMessage                     RequestCode = 324    // SEND_REPLY_MESSAGE
	ReqSendReplyMessageV2                   RequestCode = 325    // SEND_REPLY_MESSAGE_V2
	ReqPushReplyMessageToClient             RequestCode = 326    // PUSH_REPLY_MESSAGE_TO_CLIENT
	ReqAddWritePermOfBroker                 RequestCode = 327    // ADD_WRITE_PERM_OF_BROKER
	ReqGetAllProducerInfo                   RequestCode = 328    // GET_ALL_PRODUCER_INFO
	ReqDeleteExpiredCommitLog               RequestCode = 329    // DELETE_EXPIRED_COMMITLOG
	ReqQueryTopicsByConsumer                RequestCode = 343    // QUERY_TOPICS_BY_CONSUMER
	ReqQuerySubscriptionByConsumer          RequestCode = 345    // QUERY_SUBSCRIPTION_BY_CONSUMER
	ReqGetTopicConfig                       RequestCode = 351    // GET_TOPIC_CONFIG
	ReqGetSubscriptionGroupConfig           RequestCode = 352    // GET_SUBSCRIPTIONGROUP_CONFIG
	ReqUpdateAndGetGroupForbidden           RequestCode = 353    // UPDATE_AND_GET_GROUP_FORBIDDEN
	ReqCheckRocksDBCQWriteProgress          RequestCode = 354    // CHECK_ROCKSDB_CQ_WRITE_PROGRESS
	ReqExportRocksDBConfigToJSON            RequestCode = 355    // EXPORT_ROCKSDB_CONFIG_TO_JSON
	ReqLitePullMessage                      RequestCode = 361    // LITE_PULL_MESSAGE
	ReqRecallMessage                        RequestCode = 370    // RECALL_MESSAGE
	ReqQueryAssignment                      RequestCode = 400    // QUERY_ASSIGNMENT
	ReqSetMessageRequestMode                RequestCode = 401    // SET_MESSAGE_REQUEST_MODE
	ReqGetAllMessageRequestMode             RequestCode = 402    // GET_ALL_MESSAGE_REQUEST_MODE
	ReqUpdateAndCreateStaticTopic           RequestCode = 513    // UPDATE_AND_CREATE_STATIC_TOPIC
	ReqGetBrokerMemberGroup                 RequestCode = 901    // GET_BROKER_MEMBER_GROUP
	ReqAddBroker                            RequestCode = 902    // ADD_BROKER
	ReqRemoveBroker                         RequestCode = 903    // REMOVE_BROKER
	ReqBrokerHeartbeat                      RequestCode = 904    // BROKER_HEARTBEAT
	ReqNotifyMinBrokerIDChange              RequestCode = 905    // NOTIFY_MIN_BROKER_ID_CHANGE
	ReqExchangeBrokerHAInfo                 RequestCode = 906    // EXCHANGE_BROKER_HA_INFO
	ReqGetBrokerHAStatus                    RequestCode = 907    // GET_BROKER_HA_STATUS
	ReqResetMasterFlushOffset               RequestCode = 908    // RESET_MASTER_FLUSH_OFFSET
	ReqControllerAlterSyncStateSet          RequestCode = 1001   // CONTROLLER_ALTER_SYNC_STATE_SET
	ReqControllerElectMaster                RequestCode = 1002   // CONTROLLER_ELECT_MASTER
	ReqControllerRegisterBroker             RequestCode = 1003   // CONTROLLER_REGISTER_BROKER
	ReqControllerGetReplicaInfo             RequestCode = 1004   // CONTROLLER_GET_REPLICA_INFO
	ReqControllerGetMetadataInfo            RequestCode = 1005   // CONTROLLER_GET_METADATA_INFO
	ReqControllerGetSyncStateData           RequestCode = 1006   // CONTROLLER_GET_SYNC_STATE_DATA
	ReqGetBrokerEpochCache                  RequestCode = 1007   // GET_BROKER_EPOCH_CACHE
	ReqNotifyBrokerRoleChanged              RequestCode = 1008   // NOTIFY_BROKER_ROLE_CHANGED
	ReqUpdateControllerConfig               RequestCode = 1009   // UPDATE_CONTROLLER_CONFIG
	ReqGetControllerConfig                  RequestCode = 1010   // GET_CONTROLLER_CONFIG
	ReqCleanBrokerData                      RequestCode = 1011   // CLEAN_BROKER_DATA
	ReqControllerGetNextBrokerID            RequestCode = 1012   // CONTROLLER_GET_NEXT_BROKER_ID
	ReqControllerApplyBrokerID              RequestCode = 1013   // CONTROLLER_APPLY_BROKER_ID
	ReqBrokerCloseChannelRequest            RequestCode = 1014   // BROKER_CLOSE_CHANNEL_REQUEST
	ReqCheckNotActiveBrokerRequest          RequestCode = 1015   // CHECK_NOT_ACTIVE_BROKER_REQUEST
	ReqGetBrokerLiveInfoRequest             RequestCode = 1016   // GET_BROKER_LIVE_INFO_REQUEST
	ReqGetSyncStateDataRequest              RequestCode = 1017   // GET_SYNC_STATE_DATA_REQUEST
	ReqRaftBrokerHeartBeatEventRequest      RequestCode = 1018   // RAFT_BROKER_HEART_BEAT_EVENT_REQUEST
	ReqUpdateColdDataFlowCtrConfig          RequestCode = 2001   // UPDATE_COLD_DATA_FLOW_CTR_CONFIG
	ReqRemoveColdDataFlowCtrConfig          RequestCode = 2002   // REMOVE_COLD_DATA_FLOW_CTR_CONFIG
	ReqGetColdDataFlowCtrInfo               RequestCode = 2003   // GET_COLD_DATA_FLOW_CTR_INFO
	ReqSetCommitLogReadMode                 RequestCode = 2004   // SET_COMMITLOG_READ_MODE
	ReqAuthCreateUser                       RequestCode = 3001   // AUTH_CREATE_USER
	ReqAuthUpdateUser                       RequestCode = 3002   // AUTH_UPDATE_USER
	ReqAuthDeleteUser                       RequestCode = 3003   // AUTH_DELETE_USER
	ReqAuthGetUser                          RequestCode = 3004   // AUTH_GET_USER
	ReqAuthListUser                         RequestCode = 3005   // AUTH_LIST_USER
	ReqAuthCreateACL                        RequestCode = 3006   // AUTH_CREATE_ACL
	ReqAuthUpdateACL                        RequestCode = 3007   // AUTH_UPDATE_ACL
	ReqAuthDeleteACL                        RequestCode = 3008   // AUTH_DELETE_ACL
	ReqAuthGetACL                           RequestCode = 3009   // AUTH_GET_ACL
	ReqAuthListACL                          RequestCode = 3010   // AUTH_LIST_ACL
	ReqSwitchTimerEngine                    RequestCode = 5001   // SWITCH_TIMER_ENGINE
	ReqDeleteTopicInBrokerList              RequestCode = 5002   // DELETE_TOPIC_IN_BROKER_LIST
	ReqDeleteSubscriptionGroupList          RequestCode = 5003   // DELETE_SUBSCRIPTION_GROUP_LIST
	ReqPopMessage                           RequestCode = 200050 // POP_MESSAGE
	ReqAckMessage                           RequestCode = 200051 // ACK_MESSAGE
	ReqPeekMessage                          RequestCode = 200052 // PEEK_MESSAGE
	ReqChangeMessageInvisibleTime           RequestCode = 200053 // CHANGE_MESSAGE_INVISIBLETIME
	ReqNotification                         RequestCode = 200054 // NOTIFICATION
	ReqPollingInfo                          RequestCode = 200055 // POLLING_INFO
	ReqPopRollback                          RequestCode = 200056 // POP_ROLLBACK
	ReqPopLiteMessage                       RequestCode = 200070 // POP_LITE_MESSAGE
	ReqLiteSubscriptionCtl                  RequestCode = 200071 // LITE_SUBSCRIPTION_CTL
	ReqAckLiteMessage                       RequestCode = 200072 // ACK_LITE_MESSAGE
	ReqNotifyUnsubscribeLite                RequestCode = 200073 // NOTIFY_UNSUBSCRIBE_LITE
	ReqGetBrokerLiteInfo                    RequestCode = 200074 // GET_BROKER_LITE_INFO
	ReqGetParentTopicInfo                   RequestCode = 200075 // GET_PARENT_TOPIC_INFO
	ReqGetLiteTopicInfo                     RequestCode = 200076 // GET_LITE_TOPIC_INFO
	ReqGetLiteClientInfo                    RequestCode = 200077 // GET_LITE_CLIENT_INFO
	ReqGetLiteGroupInfo                     RequestCode = 200078 // GET_LITE_GROUP_INFO
	ReqTriggerLiteDispatch                  RequestCode = 200079 // TRIGGER_LITE_DISPATCH
	ReqBatchAckMessage                      RequestCode = 200151 // BATCH_ACK_MESSAGE
)

// requestNames maps a request code to its Java name.
var requestNames = map[RequestCode]string{
	10:     "SEND_MESSAGE",
	11:     "PULL_MESSAGE",
	12:     "QUERY_MESSAGE",
	13:     "QUERY_BROKER_OFFSET",
	14:     "QUERY_CONSUMER_OFFSET",
	15:     "UPDATE_CONSUMER_OFFSET",
	17:     "UPDATE_AND_CREATE_TOPIC",
	18:     "UPDATE_AND_CREATE_TOPIC_LIST",
	21:     "GET_ALL_TOPIC_CONFIG",
	22:     "GET_TOPIC_CONFIG_LIST",
	23:     "GET_TOPIC_NAME_LIST",
	25:     "UPDATE_BROKER_CONFIG",
	26:     "GET_BROKER_CONFIG",
	27:     "TRIGGER_DELETE_FILES",
	28:     "GET_BROKER_RUNTIME_INFO",
	29:     "SEARCH_OFFSET_BY_TIMESTAMP",
	30:     "GET_MAX_OFFSET",
	31:     "GET_MIN_OFFSET",
	32:     "GET_EARLIEST_MSG_STORETIME",
	33:     "VIEW_MESSAGE_BY_ID",
	34:     "HEART_BEAT",
	35:     "UNREGISTER_CLIENT",
	36:     "CONSUMER_SEND_MSG_BACK",
	37:     "END_TRANSACTION",
	38:     "GET_CONSUMER_LIST_BY_GROUP",
	39:     "CHECK_TRANSACTION_STATE",
	40:     "NOTIFY_CONSUMER_IDS_CHANGED",
	41:     "LOCK_BATCH_MQ",
	42:     "UNLOCK_BATCH_MQ",
	43:     "GET_ALL_CONSUMER_OFFSET",
	45:     "GET_ALL_DELAY_OFFSET",
	46:     "CHECK_CLIENT_CONFIG",
	47:     "GET_CLIENT_CONFIG",
	50:     "UPDATE_AND_CREATE_ACL_CONFIG",
	51:     "DELETE_ACL_CONFIG",
	52:     "GET_BROKER_CLUSTER_ACL_INFO",
	53:     "UPDATE_GLOBAL_WHITE_ADDRS_CONFIG",
	54:     "GET_BROKER_CLUSTER_ACL_CONFIG",
	60:     "GET_TIMER_CHECK_POINT",
	61:     "GET_TIMER_METRICS",
	100:    "PUT_KV_CONFIG",
	101:    "GET_KV_CONFIG",
	102:    "DELETE_KV_CONFIG",
	103:    "REGISTER_BROKER",
	104:    "UNREGISTER_BROKER",
	105:    "GET_ROUTEINFO_BY_TOPIC",
	106:    "GET_BROKER_CLUSTER_INFO",
	200:    "UPDATE_AND_CREATE_SUBSCRIPTIONGROUP",
	201:    "GET_ALL_SUBSCRIPTIONGROUP_CONFIG",
	202:    "GET_TOPIC_STATS_INFO",
	203:    "GET_CONSUMER_CONNECTION_LIST",
	204:    "GET_PRODUCER_CONNECTION_LIST",
	205:    "WIPE_WRITE_PERM_OF_BROKER",
	206:    "GET_ALL_TOPIC_LIST_FROM_NAMESERVER",
	207:    "DELETE_SUBSCRIPTIONGROUP",
	208:    "GET_CONSUME_STATS",
	209:    "SUSPEND_CONSUMER",
	210:    "RESUME_CONSUMER",
	211:    "RESET_CONSUMER_OFFSET_IN_CONSUMER",
	212:    "RESET_CONSUMER_OFFSET_IN_BROKER",
	213:    "ADJUST_CONSUMER_THREAD_POOL",
	214:    "WHO_CONSUME_THE_MESSAGE",
	215:    "DELETE_TOPIC_IN_BROKER",
	216:    "DELETE_TOPIC_IN_NAMESRV",
	217:    "REGISTER_TOPIC_IN_NAMESRV",
	219:    "GET_KVLIST_BY_NAMESPACE",
	220:    "RESET_CONSUMER_CLIENT_OFFSET",
	221:    "GET_CONSUMER_STATUS_FROM_CLIENT",
	222:    "INVOKE_BROKER_TO_RESET_OFFSET",
	223:    "INVOKE_BROKER_TO_GET_CONSUMER_STATUS",
	224:    "GET_TOPICS_BY_CLUSTER",
	225:    "UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST",
	300:    "QUERY_TOPIC_CONSUME_BY_WHO",
	301:    "REGISTER_FILTER_SERVER",
	302:    "REGISTER_MESSAGE_FILTER_CLASS",
	303:    "QUERY_CONSUME_TIME_SPAN",
	304:    "GET_SYSTEM_TOPIC_LIST_FROM_NS",
	305:    "GET_SYSTEM_TOPIC_LIST_FROM_BROKER",
	306:    "CLEAN_EXPIRED_CONSUMEQUEUE",
	307:    "GET_CONSUMER_RUNNING_INFO",
	308:    "QUERY_CORRECTION_OFFSET",
	309:    "CONSUME_MESSAGE_DIRECTLY",
	310:    "SEND_MESSAGE_V2",
	311:    "GET_UNIT_TOPIC_LIST",
	312:    "GET_HAS_UNIT_SUB_TOPIC_LIST",
	313:    "GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST",
	314:    "CLONE_GROUP_OFFSET",
	315:    "VIEW_BROKER_STATS_DATA",
	316:    "CLEAN_UNUSED_TOPIC",
	317:    "GET_BROKER_CONSUME_STATS",
	318:    "UPDATE_NAMESRV_CONFIG",
	319:    "GET_NAMESRV_CONFIG",
	320:    "SEND_BATCH_MESSAGE",
	321:    "QUERY_CONSUME_QUEUE",
	322:    "QUERY_DATA_VERSION",
	323:    "RESUME_CHECK_HALF_MESSAGE",
	324:    "SEND_REPLY_MESSAGE",
	325:    "SEND_REPLY_MESSAGE_V2",
	326:    "PUSH_REPLY_MESSAGE_TO_CLIENT",
	327:    "ADD_WRITE_PERM_OF_BROKER",
	328:    "GET_ALL_PRODUCER_INFO",
	329:    "DELETE_EXPIRED_COMMITLOG",
	343:    "QUERY_TOPICS_BY_CONSUMER",
	345:    "QUERY_SUBSCRIPTION_BY_CONSUMER",
	351:    "GET_TOPIC_CONFIG",
	352:    "GET_SUBSCRIPTIONGROUP_CONFIG",
	353:    "UPDATE_AND_GET_GROUP_FORBIDDEN",
	354:    "CHECK_ROCKSDB_CQ_WRITE_PROGRESS",
	355:    "EXPORT_ROCKSDB_CONFIG_TO_JSON",
	361:    "LITE_PULL_MESSAGE",
	370:    "RECALL_MESSAGE",
	400:    "QUERY_ASSIGNMENT",
	401:    "SET_MESSAGE_REQUEST_MODE",
	402:    "GET_ALL_MESSAGE_REQUEST_MODE",
	513:    "UPDATE_AND_CREATE_STATIC_TOPIC",
	901:    "GET_BROKER_MEMBER_GROUP",
	902:    "ADD_BROKER",
	903:    "REMOVE_BROKER",
	904:    "BROKER_HEARTBEAT",
	905:    "NOTIFY_MIN_BROKER_ID_CHANGE",
	906:    "EXCHANGE_BROKER_HA_INFO",
	907:    "GET_BROKER_HA_STATUS",
	908:    "RESET_MASTER_FLUSH_OFFSET",
	1001:   "CONTROLLER_ALTER_SYNC_STATE_SET",
	1002:   "CONTROLLER_ELECT_MASTER",
	1003:   "CONTROLLER_REGISTER_BROKER",
	1004:   "CONTROLLER_GET_REPLICA_INFO",
	1005:   "CONTROLLER_GET_METADATA_INFO",
	1006:   "CONTROLLER_GET_SYNC_STATE_DATA",
	1007:   "GET_BROKER_EPOCH_CACHE",
	1008:   "NOTIFY_BROKER_ROLE_CHANGED",
	1009:   "UPDATE_CONTROLLER_CONFIG",
	1010:   "GET_CONTROLLER_CONFIG",
	1011:   "CLEAN_BROKER_DATA",
	1012:   "CONTROLLER_GET_NEXT_BROKER_ID",
	1013:   "CONTROLLER_APPLY_BROKER_ID",
	1014:   "BROKER_CLOSE_CHANNEL_REQUEST",
	1015:   "CHECK_NOT_ACTIVE_BROKER_REQUEST",
	1016:   "GET_BROKER_LIVE_INFO_REQUEST",
	1017:   "GET_SYNC_STATE_DATA_REQUEST",
	1018:   "RAFT_BROKER_HEART_BEAT_EVENT_REQUEST",
	2001:   "UPDATE_COLD_DATA_FLOW_CTR_CONFIG",
	2002:   "REMOVE_COLD_DATA_FLOW_CTR_CONFIG",
	2003:   "GET_COLD_DATA_FLOW_CTR_INFO",
	2004:   "SET_COMMITLOG_READ_MODE",
	3001:   "AUTH_CREATE_USER",
	3002:   "AUTH_UPDATE_USER",
	3003:   "AUTH_DELETE_USER",
	3004:   "AUTH_GET_USER",
	3005:   "AUTH_LIST_USER",
	3006:   "AUTH_CREATE_ACL",
	3007:   "AUTH_UPDATE_ACL",
	3008:   "AUTH_DELETE_ACL",
	3009:   "AUTH_GET_ACL",
	3010:   "AUTH_LIST_ACL",
	5001:   "SWITCH_TIMER_ENGINE",
	5002:   "DELETE_TOPIC_IN_BROKER_LIST",
	5003:   "DELETE_SUBSCRIPTION_GROUP_LIST",
	200050: "POP_MESSAGE",
	200051: "ACK_MESSAGE",
	200052: "PEEK_MESSAGE",
	200053: "CHANGE_MESSAGE_INVISIBLETIME",
	200054: "NOTIFICATION",
	200055: "POLLING_INFO",
	200056: "POP_ROLLBACK",
	200070: "POP_LITE_MESSAGE",
	200071: "LITE_SUBSCRIPTION_CTL",
	200072: "ACK_LITE_MESSAGE",
	200073: "NOTIFY_UNSUBSCRIBE_LITE",
	200074: "GET_BROKER_LITE_INFO",
	200075: "GET_PARENT_TOPIC_INFO",
	200076: "GET_LITE_TOPIC_INFO",
	200077: "GET_LITE_CLIENT_INFO",
	200078: "GET_LITE_GROUP_INFO",
	200079: "TRIGGER_LITE_DISPATCH",
	200151: "BATCH_ACK_MESSAGE",
}

// RequestName returns the Java name of a request code, or "" for an unknown one.
func RequestName(code RequestCode) string { return requestNames[code] }
