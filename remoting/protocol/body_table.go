package protocol

// NewRequestBody returns an empty value of the type of a request's JSON body, nil where the body is none or not JSON.
func NewRequestBody(code RequestCode) any {
	switch code {
	case ReqHeartBeat:
		return new(HeartbeatData)
	case ReqUpdateAndCreateTopicList:
		return new(CreateTopicListRequestBody)
	case ReqLockBatchMQ, ReqUnlockBatchMQ:
		return new(LockBatchRequestBody)
	case ReqCheckClientConfig:
		return new(CheckClientRequestBody)
	case ReqRegisterBroker:
		return new(RegisterBrokerBody)
	case ReqUpdateAndCreateSubscriptionGroup:
		return new(SubscriptionGroupConfig)
	case ReqRegisterTopicInNamesrv:
		return new(TopicRouteData)
	case ReqResetConsumerClientOffset:
		return new(ResetOffsetBody)
	case ReqUpdateAndCreateSubscriptionGroupList:
		return new(SubscriptionGroupList)
	case ReqQueryDataVersion:
		return new(DataVersion)
	case ReqQueryAssignment:
		return new(QueryAssignmentRequestBody)
	case ReqSetMessageRequestMode:
		return new(SetMessageRequestModeRequestBody)
	case ReqUpdateAndCreateStaticTopic:
		return new(TopicQueueMappingDetail)
	case ReqControllerAlterSyncStateSet, ReqNotifyBrokerRoleChanged:
		return new(SyncStateSet)
	case ReqAuthCreateUser, ReqAuthUpdateUser:
		return new(UserInfo)
	case ReqAuthCreateACL, ReqAuthUpdateACL:
		return new(ACLInfo)
	case ReqDeleteTopicInBrokerList:
		return new(DeleteTopicListRequestBody)
	case ReqDeleteSubscriptionGroupList:
		return new(DeleteSubscriptionGroupListRequestBody)
	case ReqLiteSubscriptionCtl:
		return new(LiteSubscriptionCtlRequestBody)
	case ReqBatchAckMessage:
		return new(BatchAckMessageRequestBody)
	}
	return nil
}

// NewResponseBody returns an empty value of the type of a reply's JSON body, nil where the body is none or not JSON.
func NewResponseBody(code RequestCode) any {
	switch code {
	case ReqGetRouteInfoByTopic:
		return new(TopicRouteData)
	case ReqGetBrokerClusterInfo:
		return new(ClusterInfo)
	case ReqRegisterBroker, ReqGetKVListByNamespace, ReqGetBrokerRuntimeInfo:
		return new(KVTable)
	case ReqQueryDataVersion:
		return new(DataVersion)
	case ReqGetAllTopicListFromNameServer, ReqGetTopicsByCluster, ReqGetSystemTopicListFromNs, ReqGetSystemTopicListFromBroker,
		ReqGetUnitTopicList, ReqGetHasUnitSubTopicList, ReqGetHasUnitSubUnunitTopicList, ReqQueryTopicsByConsumer:
		return new(TopicList)
	case ReqGetBrokerMemberGroup:
		return new(GetBrokerMemberGroupResponseBody)
	case ReqGetConsumerListByGroup:
		return new(GetConsumerListByGroupResponseBody)
	case ReqLockBatchMQ:
		return new(LockBatchResponseBody)
	case ReqQueryAssignment:
		return new(QueryAssignmentResponseBody)
	case ReqGetAllTopicConfig:
		return new(TopicConfigWrapper)
	case ReqGetTopicConfig:
		return new(TopicConfigAndQueueMapping)
	case ReqGetAllSubscriptionGroupConfig:
		return new(SubscriptionGroupWrapper)
	case ReqGetSubscriptionGroupConfig:
		return new(SubscriptionGroupConfig)
	}
	return newAdminResponseBody(code)
}

// newAdminResponseBody is NewResponseBody for what only administrators and slaves ask.
func newAdminResponseBody(code RequestCode) any {
	switch code {
	case ReqGetAllConsumerOffset:
		return new(ConsumerOffsetWrapper)
	case ReqGetAllDelayOffset:
		return new(DelayOffsetWrapper)
	case ReqGetAllMessageRequestMode:
		return new(MessageRequestModeWrapper)
	case ReqGetTimerMetrics:
		return new(TimerMetrics)
	case ReqGetTopicStatsInfo:
		return new(TopicStatsTable)
	case ReqGetConsumeStats:
		return new(ConsumeStats)
	case ReqGetBrokerConsumeStats:
		return new(ConsumeStatsList)
	case ReqGetConsumerConnectionList:
		return new(ConsumerConnection)
	case ReqGetProducerConnectionList:
		return new(ProducerConnection)
	case ReqGetAllProducerInfo:
		return new(ProducerTableInfo)
	case ReqInvokeBrokerToResetOffset:
		return new(ResetOffsetBody)
	case ReqGetConsumerStatusFromClient, ReqInvokeBrokerToGetConsumerStatus:
		return new(GetConsumerStatusBody)
	case ReqQueryTopicConsumeByWho:
		return new(GroupList)
	case ReqQueryConsumeTimeSpan:
		return new(QueryConsumeTimeSpanBody)
	case ReqGetConsumerRunningInfo:
		return new(ConsumerRunningInfo)
	case ReqQueryCorrectionOffset:
		return new(QueryCorrectionOffsetBody)
	case ReqConsumeMessageDirectly:
		return new(ConsumeMessageDirectlyResult)
	case ReqViewBrokerStatsData:
		return new(BrokerStatsData)
	case ReqQueryConsumeQueue:
		return new(QueryConsumeQueueResponseBody)
	case ReqQuerySubscriptionByConsumer:
		return new(QuerySubscriptionResponseBody)
	case ReqUpdateAndGetGroupForbidden:
		return new(GroupForbidden)
	}
	return newRareResponseBody(code)
}

func newRareResponseBody(code RequestCode) any {
	switch code {
	case ReqCheckRocksDBCQWriteProgress:
		return new(CheckRocksdbCqWriteResult)
	case ReqGetBrokerHAStatus:
		return new(HARuntimeInfo)
	case ReqControllerElectMaster:
		return new(ElectMasterResponseBody)
	case ReqControllerAlterSyncStateSet, ReqControllerRegisterBroker, ReqControllerGetReplicaInfo:
		return new(SyncStateSet)
	case ReqControllerGetSyncStateData:
		return new(BrokerReplicasInfo)
	case ReqGetBrokerEpochCache:
		return new(EpochEntryCache)
	case ReqGetColdDataFlowCtrInfo:
		return new(ColdDataFlowCtrInfo)
	case ReqAuthGetUser:
		return new(UserInfo)
	case ReqAuthListUser:
		return new([]UserInfo)
	case ReqAuthGetACL:
		return new(ACLInfo)
	case ReqAuthListACL:
		return new([]ACLInfo)
	case ReqGetBrokerLiteInfo:
		return new(GetBrokerLiteInfoResponseBody)
	case ReqGetParentTopicInfo:
		return new(GetParentTopicInfoResponseBody)
	case ReqGetLiteTopicInfo:
		return new(GetLiteTopicInfoResponseBody)
	case ReqGetLiteClientInfo:
		return new(GetLiteClientInfoResponseBody)
	case ReqGetLiteGroupInfo:
		return new(GetLiteGroupInfoResponseBody)
	}
	return nil
}
