package server

import refereev1 "referee.example/proto/referee/v1"

// Who may call what: any of the scopes will do.
var (
	players   = []string{ScopePlay}
	operators = []string{ScopeOperate}
	auditors  = []string{ScopeAudit}
	readers   = []string{ScopePlay, ScopeAudit, ScopeOperate}
	wallets   = []string{ScopePlay, ScopeAudit}
	anyone    = []string{} // with a known token
)

// scopesOf has every method of the contract; a method that is missing is refused.
var scopesOf = map[string][]string{
	refereev1.MatchService_CreateMatch_FullMethodName:          players,
	refereev1.MatchService_StartGame_FullMethodName:            players,
	refereev1.MatchService_PlayAction_FullMethodName:           players,
	refereev1.MatchService_PlayActions_FullMethodName:          players,
	refereev1.MatchService_SubmitPlacement_FullMethodName:      players,
	refereev1.MatchService_OfferDraw_FullMethodName:            players,
	refereev1.MatchService_WithdrawDraw_FullMethodName:         players,
	refereev1.MatchService_AnswerDraw_FullMethodName:           players,
	refereev1.MatchService_RequestCount_FullMethodName:         players,
	refereev1.MatchService_Resign_FullMethodName:               players,
	refereev1.MatchService_CallTime_FullMethodName:             players,
	refereev1.MatchService_ReportDisconnect_FullMethodName:     players,
	refereev1.MatchService_AbandonMatch_FullMethodName:         players,
	refereev1.MatchService_VoidMatch_FullMethodName:            operators,
	refereev1.MatchService_RuleFoul_FullMethodName:             operators,
	refereev1.MatchService_CompensateSettlement_FullMethodName: operators,
	refereev1.MatchService_GetMatch_FullMethodName:             readers,
	refereev1.MatchService_GetGame_FullMethodName:              readers,
	refereev1.MatchService_FindMatch_FullMethodName:            readers,
	refereev1.MatchService_ListLegalActions_FullMethodName:     readers,
	refereev1.MatchService_WatchMatch_FullMethodName:           readers,

	refereev1.RulesService_ListRulesets_FullMethodName:      anyone,
	refereev1.RulesService_GetRuleset_FullMethodName:        anyone,
	refereev1.RulesService_CheckRuleset_FullMethodName:      anyone,
	refereev1.RulesService_ValidateAction_FullMethodName:    anyone,
	refereev1.RulesService_ValidatePlacement_FullMethodName: anyone,
	refereev1.RulesService_QuoteStake_FullMethodName:        anyone,

	refereev1.AuditService_ListMatches_FullMethodName:       auditors,
	refereev1.AuditService_ListGames_FullMethodName:         auditors,
	refereev1.AuditService_GetGameRecord_FullMethodName:     auditors,
	refereev1.AuditService_RecallPlayer_FullMethodName:      auditors,
	refereev1.AuditService_GetPairStatistics_FullMethodName: auditors,
	refereev1.AuditService_FindMatch_FullMethodName:         auditors,
	refereev1.AuditService_VerifyGame_FullMethodName:        auditors,
	refereev1.AuditService_ExportGames_FullMethodName:       auditors,
	refereev1.AuditService_GetCheckpoint_FullMethodName:     readers,
	refereev1.AuditService_ProveGame_FullMethodName:         readers,
	refereev1.AuditService_GetLogTile_FullMethodName:        auditors,

	refereev1.AuditService_StreamSettlements_FullMethodName: wallets,
	refereev1.AuditService_ListSettlements_FullMethodName:   wallets,
	refereev1.AuditService_ListExposure_FullMethodName:      auditors,
	refereev1.AuditService_ListInterventions_FullMethodName: auditors,
}
