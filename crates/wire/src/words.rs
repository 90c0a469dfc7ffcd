//! Every text that a person reads in more than one language: one table, filled at compile time. What models read, logs and
//! errors of the system stay in English.

/// A language of the surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    #[default]
    English,
    Chinese,
}

impl Language {
    /// By a setting (`zh`, `en`, `zh-CN`) or a locale (`zh_CN.UTF-8`).
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        let tag = name.split(['_', '-', '.', '@']).next()?;
        match tag {
            "zh" | "chinese" | "中文" => Some(Self::Chinese),
            "en" | "english" | "c" | "posix" => Some(Self::English),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// The text of a word.
    pub fn say(self, word: Word) -> &'static str {
        let (english, chinese) = word.texts();
        match self {
            Self::English => english,
            Self::Chinese => chinese,
        }
    }

    /// The same with its `{}` filled in order. What is left over is left out.
    pub fn fill(self, word: Word, values: &[&str]) -> String {
        let mut out = String::new();
        let mut values = values.iter();
        let mut rest = self.say(word);
        while let Some((before, after)) = rest.split_once("{}") {
            out.push_str(before);
            out.push_str(values.next().copied().unwrap_or_default());
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

macro_rules! words {
    ($($name:ident: $english:literal, $chinese:literal;)*) => {
        /// A text of the surface.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Word { $($name),* }

        impl Word {
            pub const ALL: &[Self] = &[$(Self::$name),*];

            fn texts(self) -> (&'static str, &'static str) {
                match self { $(Self::$name => ($english, $chinese)),* }
            }
        }
    };
}

// tidy: table
words! {
    // Approvals and questions
    WantsTo: "{} wants your permission", "{} 请求许可";
    ChildWantsTo: "{} ({}) wants your permission", "{}（{}）请求许可";
    AllowOnce: "allow once", "允许一次";
    AllowSession: "allow for this session", "本次会话内允许";
    AllowAlways: "always allow", "始终允许";
    DenyReason: "deny, and say why", "拒绝并说明原因";
    WhyNot: "why not? (enter sends, empty is fine)", "原因？（回车发送，可留空）";
    PlanReady: "The plan is ready", "计划已就绪";
    PlanApprove: "approve and go on", "批准并执行";
    PlanEdit: "edit it first", "先修改";
    PlanKeep: "keep planning, and say what to change", "继续计划并说明修改意见";
    BudgetReached: "The budget is reached", "已达预算上限";
    BudgetBreach: "The budget of the {} is {}: {} is used or promised, and the next request may take {} more.", "{}的预算为 {}：已用或已预留 {}，下一个请求最多还需 {}。";
    BudgetRaise: "raise it and go on", "提高预算并继续";
    BudgetTo: "to {}, until Ostler ends", "至 {}，直到 Ostler 退出";
    BudgetStop: "stop here", "到此为止";
    SpanRun: "run", "本次运行";
    SpanSession: "session", "会话";
    SpanDay: "day", "今日";
    SpanChild: "task", "任务";
    SpanRole: "role {}", "角色 {}";
    TokenCount: "{} tokens", "{} 词元";
    OwnWords: "or in your own words", "或自行输入";
    PickKeys: "↑↓ choose · enter take · type to search · esc close", "↑↓ 选择 · 回车确认 · 输入以搜索 · esc 关闭";
    ActionKeys: "tab the next · esc close", "tab 下一个 · esc 关闭";
    AskKeys: "↑↓ choose · enter take · esc stop · pgup/pgdn scroll", "↑↓ 选择 · 回车确认 · esc 停止 · pgup/pgdn 滚动";
    MultiKeys: "space marks · enter sends · esc stop", "空格标记 · 回车发送 · esc 停止";
    MoreRows: "… {} more rows", "……还有 {} 行";
    NothingFits: "nothing fits", "没有匹配项";
    // Work
    Working: "working", "工作中";
    StopKey: "esc stops", "esc 停止";
    Stopping: "stopping", "正在停止";
    Queued: "queued", "已排队";
    Steers: "joins the turn", "加入当前回合";
    Finished: "finished", "已完成";
    QuitAgain: "ctrl-c again leaves", "再按 ctrl-c 退出";
    QuitStops: "ctrl-c again leaves and stops {}", "再按 ctrl-c 退出并停止 {}";
    LeaveStops: "leaving stops {}; ctrl-d or /quit again does it", "退出会停止 {}；再次 ctrl-d 或 /quit 即退出";
    // Composer and status
    Placeholder: "Ask, or /help", "输入问题，或 /help";
    Context: "{}% context", "上下文 {}%";
    Cached: "{}% cached", "缓存 {}%";
    Budget: "{}% budget", "预算 {}%";
    Jobs: "jobs {}", "任务 {}";
    ModeNormal: "normal", "正常模式";
    ModePlan: "plan", "计划模式";
    ModeGoal: "goal", "目标模式";
    PostureAsk: "ask", "需要批准";
    PostureAuto: "auto", "自动批准";
    PostureYolo: "yolo", "Yolo批准";
    // Notes
    Copied: "copied", "已复制";
    NothingToCopy: "nothing to copy yet", "还没有可复制的内容";
    NoEditor: "the editor could not be used: {}", "无法使用编辑器：{}";
    NoImage: "no picture on the clipboard, or neither wl-paste, xclip nor pngpaste is installed", "剪贴板中没有图片，或未安装 wl-paste、xclip 或 pngpaste";
    Resumed: "goes on with {}", "继续会话 {}";
    NewSession: "a new session", "新会话";
    CannotOpen: "the session could not be opened: {}", "无法打开会话：{}";
    SessionOver: "the session has ended", "会话已结束";
    NoTheme: "there is no theme {}; there are: {}", "没有主题 {}；可用：{}";
    NoThemes: "plain lines have no colours to choose", "纯文本模式没有配色可选";
    PagerKeys: "↑↓ pgup pgdn g G · / search · q back", "↑↓ pgup pgdn g G · / 搜索 · q 返回";
    SearchFor: "search: {}", "搜索：{}";
    HistorySearch: "history: {}", "历史：{}";
    PasteChip: "[pasted {size} KB, {lines} lines #{n}]", "[粘贴 {size} KB，{lines} 行 #{n}]";
    PasteLineChip: "[pasted {size} KB #{n}]", "[粘贴 {size} KB #{n}]";
    ImageChip: "[image #{n} {label}]", "[图片 #{n} {label}]";
    TooLarge: "that is more than a prompt can take", "超出提示可容纳的大小";
    // Cells
    MoreLine: "… 1 more line", "……还有 1 行";
    MoreLines: "… {} more lines", "……还有 {} 行";
    EarlierLine: "… +1 line", "……前面 1 行";
    EarlierLines: "… +{} lines", "……前面 {} 行";
    MoreRow: "… 1 more row", "……还有 1 行";
    Picture: "[image: {}]", "[图片：{}]";
    Line: "1 line", "1 行";
    Lines: "{} lines", "{} 行";
    Match: "1 match", "1 处匹配";
    Matches: "{} matches", "{} 处匹配";
    File: "1 file", "1 个文件";
    Files: "{} files", "{} 个文件";
    Entry: "1 entry", "1 项";
    Entries: "{} entries", "{} 项";
    Result: "1 result", "1 条结果";
    Results: "{} results", "{} 条结果";
    Thought: "Thought", "已思考";
    ThoughtFor: "Thought for {}", "思考了 {}";
    ThinkingFor: "Thinking… {}", "思考中…… {}";
    AlertNote: "Note", "注意";
    AlertTip: "Tip", "提示";
    AlertImportant: "Important", "重要";
    AlertWarning: "Warning", "警告";
    AlertCaution: "Caution", "当心";
    ShowsIt: "ctrl-t shows it", "ctrl-t 查看";
    Denied: "denied", "已拒绝";
    Binary: "binary", "二进制";
    Stopped: "interrupted", "已中断";
    WaitsForYou: "waits for you", "等待你的答复";
    TimedOut: "timed out", "超时";
    NewFile: "new file", "新文件";
    Overwritten: "overwritten", "已覆盖";
    NoOutput: "(no output)", "（无输出）";
    NotCompared: "(too large to compare)", "（过大，无法比较）";
    TodoTitle: "Plan", "计划";
    Interrupted: "Interrupted", "已中断";
    NobodyAnswered: "nobody answered", "无人答复";
    NotebookCell: "cell {}", "单元格 {}";
    ExitCode: "exit {}", "退出码 {}";
    JobRuns: "job {} runs", "任务 {} 运行中";
    JobEnded: "job {} ended: exit {}", "任务 {} 已结束：退出码 {}";
    JobKilled: "job {} was ended", "任务 {} 已被终止";
    TryingAgain: "Trying again in {} (attempt {})", "{} 后重试（第 {} 次）";
    AllowedOnce: "Allowed once", "已允许一次";
    AllowedSession: "Allowed for this session", "已在本次会话内允许";
    AllowedAlways: "Always allowed from now on", "今后始终允许";
    Allowed: "Allowed", "已允许";
    DeniedByYou: "Denied", "已拒绝";
    Decided: "Decided: {}", "决定：{}";
    RuleSaved: "saved: {}", "已保存：{}";
    RuleIs: "rule: {}", "规则：{}";
    StoppedMaxSteps: "Stopped: the limit of steps is reached. Say \"go on\" to continue.", "已停止：达到步数上限。输入“继续”以继续。";
    StoppedEmpty: "The model gave an empty answer. Say it again, or in other words.", "模型给出了空回答。请重述。";
    StoppedRefusal: "The model refused to answer.", "模型拒绝回答。";
    CutByLength: "The answer was cut: it reached the model's limit. Say \"go on\" to continue.", "回答被截断：达到模型上限。输入“继续”以继续。";
    CutByConnection: "The answer was cut: the connection was lost.", "回答被截断：连接中断。";
    TitleIs: "Title: {}", "标题：{}";
    ModeChanged: "Mode: {}, permissions: {}", "模式：{}，权限：{}";
    UsageInput: "{} in", "输入 {}";
    UsageOutput: "{} out", "输出 {}";
    // Commands
    HelpApprove: "who approves; a duration such as 10m asks again after it", "由谁批准；如 10m 的时长过后恢复询问";
    HelpCache: "how much of the prompts was cached, and what broke it", "提示缓存的命中与中断原因";
    HelpClear: "discard this transcript and start anew", "丢弃此记录并重新开始";
    HelpContext: "what fills the context window, by part", "上下文窗口的占用，按部分";
    HelpCopy: "copy the last answer, or the n-th from the end", "复制最近的回答，或倒数第 n 个";
    HelpCost: "tokens and cost of this session", "本会话的词元与费用";
    HelpEffort: "how hard the model thinks", "模型思考的强度";
    HelpExport: "write the transcript to a file", "将记录写入文件";
    HelpFork: "go on in a copy of this session, or of what came before its n-th prompt", "在此会话的副本中继续，或从第 n 条提示之前";
    HelpHelp: "this list", "此列表";
    HelpMcp: "servers of others: state, trust, reconnect", "MCP 服务器：状态、信任、重连";
    HelpMode: "show or change the mode", "查看或更改模式";
    HelpModel: "choose the model, or go on with the one named", "选择模型，或改用指定的模型";
    HelpNew: "a new session; this one is kept", "新会话；保留当前会话";
    HelpPermissions: "the rules that hold, or one more for this session", "当前规则，或为本会话添加一条";
    HelpPlan: "plan before anything is changed", "先计划，再修改";
    HelpQuit: "leave", "退出";
    HelpResume: "go on with an earlier session, or find one by what was said", "继续之前的会话，或按内容查找";
    HelpSession: "where this session is kept", "此会话的保存位置";
    HelpStatus: "session, model, mode, tools and what the prompt weighs", "会话、模型、模式、工具与提示大小";
    HelpTheme: "change the colours", "更改配色";
    NoCommand: "There is no command /{}. Try /help.", "没有命令 /{}。请看 /help。";
    ClearTitle: "Discard this transcript?", "丢弃此记录？";
    ClearYes: "discard it", "丢弃";
    ClearNo: "keep it", "保留";
    ResumeTitle: "Resume", "继续";
    ResumeNone: "there is no other session of this project", "此项目没有其他会话";
    ResumeFound: "Resume: {}", "继续：{}";
    ResumeNothing: "no session of this project has: {}", "此项目的会话中没有：{}";
    LookDeeper: "look for it in what was said", "在会话内容中查找";
    HistoryBehind: "The index is still being made: {} of {} logs are missing in part. Search again for more.", "索引仍在建立：{}/{} 个日志尚不完整。请再次搜索。";
    HistoryBusy: "{} of {} logs may be missing in part: another session is writing to the index.", "{}/{} 个日志可能不完整：另一个会话正在写入索引。";
    HistoryStuck: "{} of {} logs may be missing in part: the index cannot be written ({}).", "{}/{} 个日志可能不完整：无法写入索引（{}）。";
    HistoryUnkept: "The index cannot be kept at {}: {}.", "索引无法保存在 {}：{}。";
    HistoryRebuilt: "The index was damaged and has been made anew.", "索引已损坏，现已重建。";
    ActResume: "resume", "继续";
    ActFork: "fork", "复制";
    ActUse: "use", "使用";
    Turns: "{} turns", "{} 回合";
    NothingSaid: "nothing was said yet", "尚无内容";
    NothingSpent: "no request was sent yet", "尚未发送请求";
    RowSession: "session", "会话";
    RowLog: "log", "日志";
    RowResume: "resume with", "继续命令";
    RowBudget: "budget of the {}", "{}的预算";
    BudgetState: "{} of {} used, {} held, {} left", "已用 {}，共 {}，预留 {}，剩余 {}";
    RowTotal: "total", "合计";
    ModelTitle: "Model", "模型";
    ModelIs: "Model: {}", "模型：{}";
    EffortTitle: "Effort", "思考强度";
    EffortIs: "Effort: {}", "思考强度：{}";
    NoEffort: "There is no effort {}; there are: {}", "没有思考强度 {}；可用：{}";
    Exported: "Written to {}", "已写入 {}";
    ThemeTitle: "Theme", "配色";
    ColPart: "part", "部分";
    ColTokens: "tokens", "词元";
    ColModel: "model", "模型";
    ColRequests: "requests", "请求";
    ColInput: "input", "输入";
    ColCached: "cached", "缓存";
    ColOutput: "output", "输出";
    ColCost: "cost", "费用";
    PartSystem: "system prompt", "系统提示";
    PartTools: "tool schemas", "工具定义";
    PartUser: "your words and files", "你的话与文件";
    PartAnswers: "answers", "回答";
    PartThoughts: "reasoning", "思考";
    PartCalls: "tool calls", "工具调用";
    PartResults: "tool results", "工具结果";
    PartImages: "pictures", "图片";
    CacheRate: "{}% of all prompt tokens were cached.", "{}% 的提示词元命中缓存。";
    CacheWhole: "No prompt broke the one before it.", "没有提示中断缓存。";
    // Tasks
    HelpBg: "run a prompt in the background, in a session of its own", "在后台的独立会话中运行提示";
    HelpKill: "stop a task or a job", "停止任务或作业";
    HelpPs: "tasks and jobs that run", "正在运行的任务与作业";
    HelpTimeout: "stop a task after so long", "到时停止任务";
    HelpConfig: "the settings that hold, and where they come from", "当前设置及其来源";
    HelpDoctor: "what is there, what is missing, and what to do about it", "检查环境与缺失项";
    HelpAgents: "roles, the sub-agents that run, and those that ran", "角色、正在运行与已结束的子代理";
    HelpSkills: "skills, and where each comes from", "技能及其来源";
    HelpLogin: "log in to a provider", "登录提供商";
    HelpLogout: "forget the login of a provider", "退出提供商的登录";
    LoginBegins: "Logging in …", "正在登录……";
    LoginPage: "Log in on this page:\n\n  {}\n", "请在此页面登录：\n\n  {}\n";
    LoginPaste: "If the browser runs on another machine, paste the address here that it ends at (it begins with http://127.0.0.1).", "如果浏览器在另一台机器上，请在此粘贴它最终停留的地址（以 http://127.0.0.1 开头）。";
    LoginSend: "If the browser runs on another machine, send /login and the address that it ends at (it begins with http://127.0.0.1).", "如果浏览器在另一台机器上，请发送 /login 加上它最终停留的地址（以 http://127.0.0.1 开头）。";
    LoginLooks: "Looking at it …", "正在检查……";
    LoginNone: "No login waits for an address; /login begins one.", "没有等待地址的登录；请先用 /login。";
    LoginDevice: "On any device, open\n\n  {}\n\nand type in the code\n\n  {}\n", "在任意设备上打开\n\n  {}\n\n并输入代码\n\n  {}\n";
    LoginWithCode: "\nor open this, which has it:\n\n  {}\n", "\n或直接打开带有代码的页面：\n\n  {}\n";
    LoginWaits: "\nWaiting, {} minutes at most …", "\n等待中，最多 {} 分钟……";
    LoginUntil: " until {}", "，有效至 {}";
    LoggedIn: "Logged in to {}{}. Its tokens are in {} and go to {} only.", "已登录 {}{}。令牌保存在 {}，只发送给 {}。";
    NoBrowser: "No browser could be opened ({}).", "无法打开浏览器（{}）。";
    NoLogin: "There is no login.", "没有登录。";
    NoLoginOf: "There was no login of {}.", "没有 {} 的登录。";
    WhichLogin: "which one? there are logins of {}", "哪一个？已登录：{}";
    LoggedOut: "Logged out of {}.", "已退出 {}。";
    NotRevoked: "The issuer did not take the token back: {}. It is valid there until it expires.", "颁发方未收回令牌：{}。它在过期前仍然有效。";
    TaskUsage: "Write /bg and the prompt, or end a prompt with ` &`.", "请写 /bg 加提示，或以 ` &` 结尾。";
    TasksFull: "{} tasks run already; wait for one, or /kill one.", "已有 {} 个任务在运行；请等待或用 /kill 停止一个。";
    TaskStarted: "{} runs in the background: {}", "{} 在后台运行：{}";
    TaskDone: "{} is done after {}", "{} 已完成，用时 {}";
    TaskFailed: "{} failed after {}", "{} 失败，用时 {}";
    TaskStopped: "{} was stopped after {}", "{} 已停止，用时 {}";
    TaskOutOfTime: "{} ran out of time after {}", "{} 超时停止，用时 {}";
    TasksRun: "Not while tasks run ({}): wait for them, or /kill them first.", "任务运行期间（{}）不可用：请等待，或先用 /kill 停止。";
    NothingRuns: "Nothing runs in the background.", "后台没有任务。";
    NoTask: "There is no task or job {}. /ps lists them.", "没有任务或作业 {}。见 /ps。";
    WhichTask: "Which one? {}", "哪一个？{}";
    IsStopped: "Stopping {}", "正在停止 {}";
    TimeoutUsage: "Write a time such as 10m, or off, and the task's id where several run.", "请写如 10m 的时长或 off；有多个任务时加上任务编号。";
    TimeoutIs: "{} is stopped in {}", "{} 将在 {} 后停止";
    TimeoutOff: "{} has no limit any more", "{} 不再限时";
    WaitsForPlace: "waits for a free place", "等待空位";
    WaitsToWrite: "waits for its turn to change files", "等待轮到它修改文件";
    DoingThinks: "thinks", "思考中";
    DoingRuns: "runs {}", "运行 {}";
    DoingAsks: "asks you", "等你回答";
    StateRuns: "runs", "运行中";
    StateExited: "ended: exit {}", "已结束：退出码 {}";
    StateKilled: "killed", "已终止";
    ColId: "id", "编号";
    ColState: "state", "状态";
    ColTime: "time", "用时";
    ColWhat: "what", "内容";
    ColValue: "value", "值";
    ColFrom: "from", "来源";
    LeftBehind: "Stopped with the session: {}", "随会话停止：{}";
    NoSetting: "There is no setting {}.", "没有设置 {}。";
    StatusOk: "ok", "正常";
    StatusNote: "note", "注意";
    StatusProblem: "problem", "问题";
    ModelFacts: "{}k tokens", "{}k 词元";
    ModelPrice: "${} in, ${} out per million", "每百万：输入 ${}，输出 ${}";
    // Checkpoints and rewind
    HelpDiff: "what this session changed, or what its n-th prompt did", "本会话的改动，或第 n 条提示的改动";
    HelpRewind: "take back files, conversation or both", "撤回文件、对话或两者";
    SavesFirst: "saves the files first", "先保存文件";
    NoCheckpoint: "No checkpoint: {}. What changes now cannot be rewound.", "没有检查点：{}。此后的改动无法撤回。";
    SavedInPart: "Not the whole tree is saved: {}. Only files that are changed by name can be rewound.", "未保存整个目录树：{}。只有按名称修改的文件可以撤回。";
    IgnoredNotSaved: "{} is ignored and too large to be saved; it cannot be rewound.", "{} 被忽略且过大，未保存，无法撤回。";
    WhyNoProject: "your home folder, a folder above it and / are no projects", "主目录、其上级目录与 / 不是项目";
    WhyBusy: "another session works on the checkpoints of this project", "另一个会话正在使用此项目的检查点";
    WhyFull: "the disk is full; `ostler checkpoint gc` makes room", "磁盘已满；可用 `ostler checkpoint gc` 腾出空间";
    WhyFiles: "it has too many files", "文件过多";
    WhyTime: "it takes too long", "耗时过长";
    WhyQuota: "it does not fit the quota, see [context] checkpoint_quota", "超出配额，见 [context] checkpoint_quota";
    WhyUnreadable: "too many files cannot be read", "太多文件无法读取";
    WhyGone: "its checkpoint is gone", "检查点已不存在";
    WhyDamaged: "{} is damaged in the store", "存储中的 {} 已损坏";
    RewindTitle: "Rewind to before", "撤回到此前";
    RewindWhat: "Rewind {}", "撤回 {}";
    RewindBoth: "files and conversation", "文件与对话";
    RewindCode: "files only", "仅文件";
    RewindTalk: "conversation only", "仅对话";
    RewindLeave: "leave everything as it is", "保持现状";
    RewindUndo: "undo the last rewind", "取消上次撤回";
    RewindUsage: "Write /rewind, /rewind <n> [both|code|conversation], or /rewind undo.", "请写 /rewind、/rewind <n> [both|code|conversation] 或 /rewind undo。";
    RewindBusy: "Not while it works: stop it first (esc), then rewind.", "工作期间不可用：请先停止（esc），再撤回。";
    RewindNoPoint: "There is no prompt {} to go back to. /rewind lists them.", "没有第 {} 条提示。见 /rewind。";
    RewindNoFiles: "No files were saved then.", "当时没有保存文件。";
    RewindNoUndo: "There is no rewind to undo.", "没有可取消的撤回。";
    RewindFailed: "Nothing was rewound: {}.", "未撤回：{}。";
    RewindUnseen: "{} changed outside this session:", "有 {} 个在会话之外被修改：";
    RewindKeep: "rewind the others, keep these", "撤回其他，保留这些";
    RewindForce: "rewind these as well (undo brings them back)", "也撤回这些（可取消）";
    RewindKept: "Left as they are: {}", "保持不变：{}";
    RewoundBoth: "Rewound to before “{}”: the conversation, and files ({} changed). /rewind undo brings it all back.", "已撤回到“{}”之前：对话与文件（{} 处）。/rewind undo 可取消。";
    RewoundCode: "Files are as they were before “{}” ({} changed). /rewind undo brings them back.", "文件已恢复到“{}”之前（{} 处）。/rewind undo 可取消。";
    RewoundTalk: "The conversation is as it was before “{}”; files stay. /rewind undo brings it back.", "对话已撤回到“{}”之前；文件不变。/rewind undo 可取消。";
    RewindUndone: "The rewind is undone ({} files changed). /rewind undo takes it back again.", "已取消撤回（{} 处文件）。再次 /rewind undo 可恢复。";
    RewindAgain: "esc again rewinds", "再按 esc 撤回";
    ActRewind: "rewind", "撤回";
    ActDiff: "diff", "改动";
    AndMore: "and {} more", "另有 {} 个";
    NothingChanged: "Nothing was changed.", "没有改动。";
    // Notes and commands of the person's own
    NoteAsk: "Add to {}: {}", "添加到 {}：{}";
    NoteYes: "add it", "添加";
    NoteNo: "leave it", "不添加";
    NoteNot: "Nothing was noted.", "未添加。";
    NoteDone: "Noted in {}", "已记入 {}";
    NoteFailed: "{} could not be written: {}", "无法写入 {}：{}";
    TemplateNotSent: "/{} was not sent: {}", "/{} 未发送：{}";
    TemplateUntrusted: "/{} comes with this project, which is not trusted: its allowed-tools and model are left out.", "/{} 来自未受信任的项目：忽略其 allowed-tools 与 model。";
    // Folding
    HelpCompact: "fold older work into a digest now; say what it should look after", "立即将较早的工作折叠为摘要；可写明重点";
    Folding: "folding older work", "正在折叠较早的工作";
    FoldedWork: "Folded older work (answers {}, calls {}): about {} → {} tokens", "已折叠较早的工作（回答 {}，调用 {}）：约 {} → {} 词元";
    FoldedByLog: "from the log alone", "仅依据日志";
    FoldedFocus: "focus: {}", "重点：{}";
    FoldDone: "Folded. The originals are in {}.", "已折叠。原文在 {}。";
    FoldDoneOnly: "Folded.", "已折叠。";
    FoldNothing: "There is nothing to fold yet.", "还没有可折叠的内容。";
    FoldStopped: "Interrupted; nothing was folded.", "已中断；没有折叠任何内容。";
    FoldLittle: "The prompt takes most of the window, and folding older work would save too little. Begin anew: {}", "提示占用了大部分窗口，折叠较早的工作节省太少。请重新开始：{}";
    FoldPinned: "Your own messages and the digests take more than half of the window (about {} of {} tokens); folding more would not help. Begin anew: {}", "你的消息与摘要已占窗口一半以上（约 {} / {} 词元）；继续折叠没有帮助。请重新开始：{}";
    FoldNoSummary: "The model's summary could not be used ({}); the digest was made from the log alone.", "无法使用模型的总结（{}）；摘要仅依据日志生成。";
    FoldNoArchive: "The archive {} could not be written ({}); the session log still has everything.", "无法写入归档 {}（{}）；会话日志仍保留全部内容。";
    PromptTooLong: "The prompt is too long for the model. Fold it with /compact, or begin anew: {}", "提示超出模型的窗口。请用 /compact 折叠，或重新开始：{}";
    WindowFull: "The context is {} % full ({} of {} tokens). {}", "上下文已用 {} %（{} / {} 词元）。{}";
    WindowFoldsNext: "Older work is folded before the next turn; /compact does it now.", "下一回合前将折叠较早的工作；/compact 立即折叠。";
    WindowFoldsAt: "Older work is folded at {} %; /compact does it now.", "到 {} % 时折叠较早的工作；/compact 立即折叠。";
    WindowAsks: "Before the next prompt you are asked how to go on: hand over, fold, or as it is.", "下一条提示之前会询问如何继续：交接、折叠，或照旧。";
    WindowHandoff: "The handoff could not be written ({}). Begin anew: {}", "无法写入交接文档（{}）。请重新开始：{}";
    WindowHandedOff: "What a fresh session needs is in {}. In better words: {}", "新会话所需的内容已写入 {}。如需更好的表述：{}";
    OfferHow: "How shall it go on?", "如何继续？";
    OfferHandoff: "Hand over to a fresh session", "交接给新会话";
    OfferHandoffMore: "writes what it needs to a file, which you see, and begins it; your prompt is its goal", "将所需内容写入文件并展示，然后开始新会话；你的提示即其目标";
    OfferFold: "Fold older work into a digest", "将较早的工作折叠为摘要";
    OfferFoldMore: "this session goes on; what you said stays word for word", "本会话继续；你说的话逐字保留";
    OfferGoOn: "Go on as it is", "照旧继续";
    OfferGoOnMore: "until the window is full", "直到窗口用满";
    WindowOnlyWarns: "Nothing folds it by itself: use /compact, or begin anew: {}", "不会自动折叠：请用 /compact，或重新开始：{}";
    WindowUnknown: "The prompt has about {} tokens, and the window of this model is not known (context_window). Before it is full, fold it with /compact, or begin anew: {}", "提示约有 {} 词元，而此模型的窗口未知（context_window）。在用满之前，请用 /compact 折叠，或重新开始：{}";
    HelpHandoff: "write what a fresh session needs to go on, to a file", "将新会话继续工作所需的内容写入文件";
    HandingOff: "writing the handoff", "正在写交接文档";
    HandoffUsage: "Write /handoff and what the next session is for.", "请写 /handoff 加上下一个会话的目标。";
    HandoffStopped: "Interrupted; nothing was written.", "已中断；没有写入任何内容。";
    HandoffDraft: "The model's words could not be used ({}); this is from the log alone.", "无法使用模型的文字（{}）；以上仅依据日志。";
    HandoffDone: "Written to {}. Begin anew with /new, then: go on with @{}", "已写入 {}。用 /new 重新开始，然后输入：继续 @{}";
    HandoffOver: "Written to {}. Send the first message of the new session when you have read it.", "已写入 {}。阅读后发送新会话的第一条消息即可。";
    HandoffGoOn: "Go on with @{}", "继续 @{}";
    PartDigests: "digests of folded work", "折叠摘要";
    RowPinned: "pinned: no fold takes it", "固定：折叠时保留";
    RowSaves: "a fold would take out", "折叠可移出";
    RoleFolding: "folding", "折叠";
    RoleHandoff: "handoff", "交接";
    // Standing
    RowMode: "mode", "模式";
    RowApproval: "approval", "批准";
    RowKey: "key", "密钥";
    RowRoot: "root", "根目录";
    RowTools: "tools", "工具";
    RowPrompt: "prompt", "提示";
    RowTasks: "tasks", "任务";
    AboutTokens: "about {} tokens", "约 {} 词元";
    ApprovalIs: "Approval: {}", "批准：{}";
    ApproveUsage: "/approve does not know `{}`. Write ask, all, none, or a time such as 10m.", "/approve 不认识 `{}`。请写 ask、all、none 或如 10m 的时长。";
    ModeIs: "Mode: {}", "模式：{}";
    ModeIsPlan: "Mode: plan. Nothing is changed until you approve a plan; /mode normal leaves it.", "模式：plan。批准计划前不做任何修改；/mode normal 退出。";
    NoMode: "There is no mode `{}`. Write {}.", "没有模式 `{}`。请写 {}。";
    PlanWindow: "{}; the approved plan runs without asking until the turn ends", "{}；已批准的计划在本回合内不再询问";
    PermissionsUsage: "Write /permissions allow|ask|deny|remove RULE, such as /permissions allow Bash(cargo test:*).", "请写 /permissions allow|ask|deny|remove 规则，例如 /permissions allow Bash(cargo test:*)。";
    RuleIdle: "The rule `{}` would stop nothing: there is no tool `{}`.", "规则 `{}` 不起作用：没有工具 `{}`。";
    RuleHolds: "{} {}, for this session", "{} {}，仅本会话";
    NoRule: "There is no rule `{}`. /permissions shows them.", "没有规则 `{}`。见 /permissions。";
    RuleInFile: "The rule `{}` is written in {}; `ostler permissions remove` takes it out there.", "规则 `{}` 写在 {}；请用 `ostler permissions remove` 移除。";
    RuleRemoved: "Removed: {}", "已移除：{}";
    RuleRemovedHere: "Removed for this session: {}; it stays in {}", "本会话已移除：{}；仍保留在 {}";
    Granted: "granted", "已授予";
    Sandbox: "sandbox", "沙箱";
    MayReach: "reach {}", "访问 {}";
    MayWrite: "write {}", "写入 {}";
    MayRead: "read {}", "读取 {}";
    MayEdit: "edit {}", "编辑 {}";
    MayEditAll: "editing files", "编辑文件";
    MayUseAgent: "use the ssh agent", "使用 ssh agent";
    ScopeCommand: "this exact command", "仅此命令";
    ScopeCall: "exactly this", "仅此项";
    InPlace: "{} in {}", "{}（{}）";
    NotSaved: "Not saved, it holds for this session only: {}", "未保存，仅在本会话内有效：{}";
    SaveLost: "the rule could not be saved", "无法保存规则";
    SaveStopped: "the turn was stopped before the rule was saved", "规则保存前回合已停止";
    TrustAsk: "Plan mode: {} says that it only reads. Trust it?", "计划模式：{} 声称只读取。信任它吗？";
    TrustOnce: "this time", "仅此一次";
    TrustSession: "for this session", "本次会话内";
    TrustScope: "{} while planning", "计划时的 {}";
    PlanAsk: "Carry out this plan?", "执行此计划？";
    PlanScope: "until the end of this turn whatever is not denied may run", "本回合内未被拒绝的操作均可执行";
    OnceAgain: "allow once and run it again", "允许一次并重新运行";
    CommandsMay: "commands may {}", "命令可以{}";
    SandboxStopped: "The sandbox stopped {}: let it {}", "沙箱阻止了 {}：允许它{}";
    ThisSession: "this session", "本会话";
    StanceShell: "yolo for commands", "命令无需批准";
    StanceNever: "refuse", "一律拒绝";
    StanceUntil: "auto for {}", "自动批准，剩余 {}";
    // What becomes of a turn
    CutAskAgain: "The answer was cut off ({}); asking again.", "回答中断（{}）；正在重新请求。";
    ReplayAgain: "{}. Asking again without the reasoning of earlier answers.", "{}。将不带先前的思考重新请求。";
    OutputLimit: "The answer stopped at the model's output limit; raise [agent] max_tokens or ask it to go on.", "回答达到模型的输出上限；请提高 [agent] max_tokens，或让它继续。";
    EndMaxSteps: "Stopped after {} steps (max_steps).", "已在 {} 步后停止（max_steps）。";
    EndCutTwice: "The answer was cut off twice in a row. Check the connection and send the prompt again.", "回答连续两次中断。请检查网络后重新发送。";
    EndRefusal: "The model refused to answer. Say it differently, or use another model.", "模型拒绝回答。请换种说法，或换用其他模型。";
    EndEmpty: "The model answered with nothing, twice. Try again, or use another model.", "模型两次给出空回答。请重试，或换用其他模型。";
    EndRepeats: "Stopped: the model kept making the same {} call with the same result.", "已停止：模型反复进行同样的 {} 调用，结果相同。";
    PromptsFull: "{} prompts are waiting already; this one was dropped. Send it again later.", "已有 {} 条提示在等待；此条未接收。请稍后再发。";
    CommandsFull: "{} commands are waiting already; this one was dropped. Send it again later.", "已有 {} 条命令在等待；此条未接收。请稍后再发。";
    PictureLeft: "Picture {} was left out: {}.", "图片 {} 未采用：{}。";
    PicturesFew: "Only the first {} of {} pictures were taken.", "只采用了前 {} 张图片，共 {} 张。";
    PictureLarge: "it is too large", "过大";
    PictureGarbled: "its data is not base64 ({})", "数据不是 base64（{}）";
    PictureUnknown: "it is no PNG, JPEG, GIF or WebP", "不是 PNG、JPEG、GIF 或 WebP";
    PictureUnread: "it could not be read ({})", "无法读取（{}）";
    RefForbidden: "@{} may not be read and was left out.", "@{} 不允许读取，已略过。";
    RefLeft: "@{} was left out: {}.", "@{} 已略过：{}。";
    Unconfined: "Commands run without a sandbox, with all your rights: {}.", "命令在没有沙箱的情况下以你的全部权限运行：{}。";
    RulesBroken: "The configuration has changed and cannot be used ({}); the rules from before hold.", "配置已更改但无法使用（{}）；沿用先前的规则。";
    RulesNew: "New rules hold from now on: {}", "新规则即刻生效：{}";
    // What a session is opened with
    DamageTorn: "The last entry of this session was cut off and is lost.", "此会话的最后一条记录不完整，已丢失。";
    DamageLine: "1 unreadable line of this session log was left out{}.", "此会话日志有 1 行无法读取，已略过{}。";
    DamageLines: "{} unreadable lines of this session log were left out{}.", "此会话日志有 {} 行无法读取，已略过{}。";
    DamageAlso: ", and the last entry was cut off", "，且最后一条记录不完整";
    PromptGone: "The stored prompt of this session is gone; it goes on with a new one, so the prompt cache starts over.", "此会话保存的提示已丢失；将使用新提示，缓存重新开始。";
    InstructionsFrom: "Instructions: {}", "指令文件：{}";
    ModelGone: "This session was with {}, which cannot be used now ({}); it goes on with {}.", "此会话原用 {}，现在无法使用（{}）；改用 {}。";
    SessionMoved: "This session began in {}; it goes on in {}. Paths in it may mean other files now.", "此会话始于 {}；现在于 {} 继续。其中的路径可能指向其他文件。";
    AgentsRoles: "Roles", "角色";
    AgentsReads: "reads only", "只读";
    AgentsOff: "off", "已停用";
    AgentsRun: "At work", "正在运行";
    AgentsRan: "Through", "已结束";
    EndedDone: "done", "完成";
    EndedFailed: "failed", "失败";
    EndedStopped: "stopped", "已停止";
    EndedOutOfTime: "out of time", "超时";
    SkillsTitle: "Skills", "技能";
    SkillsNone: "There are no skills.", "没有技能。";
    SkillInline: "in this session", "在本会话内";
    SkillApart: "in a session of its own", "在独立会话中";
    SkillOurs: "built in", "内置";
    SkillUse: "use", "使用";
    SkillShow: "show", "查看";
    NoSkill: "There is no skill {}.", "没有技能 {}。";
    PlanMade: "Plan:\n{}", "计划：\n{}";
    NoPlan: "The planner gave no plan, so the turn goes on without one. {}", "规划模型未给出计划，回合继续。{}";
    SkillLeft: "The skill {} is left out: {}.", "技能 {} 已忽略：{}。";
    RoleLeft: "The role {} is left out: {}.", "角色 {} 已忽略：{}。";
    TemplateLeft: "The command {} was left out: {}.", "命令 {} 已略过：{}。";
    FileLeft: "{} was left out: instruction files are over {} bytes together.", "{} 已略过：指令文件合计超过 {} 字节。";
    FileHidden: "{} has {} characters that nobody can see (control characters, hidden or reversed text); they were left out.", "{} 含 {} 个不可见字符（控制字符、隐藏或反向文本），已去除。";
    FileUnread: "{} cannot be read: {}.", "无法读取 {}：{}。";
    FileElsewhere: "it is a link to a file elsewhere", "它链接到别处的文件";
    ImportLeft: "The import @{} in {} was left out: {}.", "导入 @{}（{}）已略过：{}。";
    ImportLeaves: "it leaves the folder of its file", "它超出了文件所在的文件夹";
    ImportDeep: "imports are nested too deep", "导入嵌套过深";
    ImportNone: "there is no such file", "没有此文件";
    CacheBroke: "entry {}: the prompt broke at byte {} ({}), cause: {}; about {} tokens were read again", "第 {} 条：提示在第 {} 字节处中断（{}），原因：{}；约重读 {} 词元";
    CacheShares: "entry {}: only {} of the {} bytes of the prompt before are shared", "第 {} 条：与前一提示仅共享 {} 字节，共 {} 字节";
    // Servers
    McpNone: "No MCP servers. Add one: ostler mcp add <name> -- <command>", "没有 MCP 服务器。添加：ostler mcp add <名称> -- <命令>";
    McpNoServer: "There is no MCP server {}.", "没有 MCP 服务器 {}。";
    McpTitle: "MCP servers", "MCP 服务器";
    McpIdle: "starts when it is needed", "需要时启动";
    McpStarting: "starting", "正在启动";
    McpReady: "ready", "就绪";
    McpCounts: "{} tools, {} prompts, {} resources", "{} 个工具，{} 个提示，{} 个资源";
    McpReconnect: "reconnect", "重新连接";
    McpReconnects: "{} is being connected anew.", "正在重新连接 {}。";
    McpTrust: "trust its read-only tools while planning", "计划模式下信任其只读工具";
    McpUntrust: "trust it no longer", "不再信任";
    McpTrusted: "The tools of {} that only read, as it says, may be used while planning.", "计划模式下可使用 {} 声明为只读的工具。";
    McpUntrusted: "Tools of {} ask again while planning.", "计划模式下 {} 的工具会再次询问。";
    McpLogin: "copy the command to log in", "复制登录命令";
    McpLoginCommand: "ostler mcp login {}", "ostler mcp login {}";
    McpWantsPage: "{} asks: {} Open {} in a browser.", "{} 请求：{} 请在浏览器中打开 {}。";
    McpWantsField: "{} asks: {} {}", "{} 询问：{} {}";
    McpWasThere: "done", "已完成";
    McpDecline: "do not answer", "不回答";
    McpYes: "yes", "是";
    McpNo: "no", "否";
    McpPromptFailed: "The prompt {} was not sent: {}", "提示 {} 未发送：{}";
    McpChanged: "MCP servers say something else of these tools than before: {}", "MCP 服务器对这些工具的说明已改变：{}";
    McpRestless: "MCP servers keep changing their tools; this session goes on with those it has", "MCP 服务器不断更改工具；本会话继续使用现有工具";
    // Goals
    HelpGoal: "work towards a goal, turn after turn, until it is reached", "朝目标持续工作，直到达成";
    ModeIsGoal: "Mode: goal. The next prompt names the goal; /mode normal leaves it.", "模式：goal。下一条提示即为目标；/mode normal 退出。";
    GoalNone: "There is no goal. Write /goal and what is to be reached.", "没有目标。请写 /goal 加上要达成的目标。";
    GoalUsage: "Write /goal [--research|--simple] and what is to be reached, or /goal clear.", "请写 /goal [--research|--simple] 加上要达成的目标，或 /goal clear。";
    GoalBegins: "The goal begins. esc stops it, /goal clear ends it.", "目标开始。esc 停止，/goal clear 结束。";
    GoalActive: "At work, turn {} of {}: {}", "进行中，第 {}/{} 回合：{}";
    GoalWaits: "Waiting after turn {} of {}; your next prompt goes on with it, /goal clear ends it: {}", "在第 {}/{} 回合后等待；下一条提示将继续，/goal clear 结束：{}";
    GoalDone: "Goal reached (turns: {}).", "目标已达成（回合：{}）。";
    GoalBlocked: "The goal is blocked and waits for you: {}", "目标受阻，等待你的处理：{}";
    GoalLimit: "The goal waits: {} turns began by themselves, which is the most. A prompt goes on with it.", "目标等待中：已自动进行 {} 个回合，达到上限。输入提示可继续。";
    GoalStopped: "The goal waits. A prompt goes on with it, /goal clear ends it.", "目标等待中。输入提示可继续，/goal clear 结束。";
    GoalFailed: "The goal waits, because this turn failed. A prompt goes on with it.", "本回合失败，目标等待中。输入提示可继续。";
    GoalNoFolder: "The folder for this goal could not be made ({}); it is worked on without one.", "无法创建此目标的文件夹（{}）；将不使用文件夹。";
    GoalAsk: "This sounds like a goal: work on it turn after turn until it is reached?", "这像是一个目标：持续工作直到达成？";
    GoalYes: "as a goal, with a folder for its state", "作为目标，并用文件夹保存状态";
    GoalNo: "as an ordinary prompt", "作为普通提示";
    GoalAt: "goal {}/{}", "目标 {}/{}";
    GoalPaused: "goal waits", "目标等待中";
    // Hooks
    HelpHooks: "the hooks that are set, and where they come from", "已设置的钩子及其来源";
    HooksNone: "No hooks are set. See [[hooks]] in docs/hooks.md.", "没有设置钩子。见 docs/hooks.md 中的 [[hooks]]。";
    ColEvent: "event", "事件";
    ColMatch: "match", "匹配";
    ColCommand: "command", "命令";
    HookFailed: "The hook `{}` ({}) failed, and the work goes on: {}", "钩子 `{}`（{}）失败，工作继续：{}";
    HookRuns: "hook: {}", "钩子：{}";
    HookTimedOut: "it took longer than {} s and was killed", "超过 {} 秒，已终止";
    HookExit: "exit {}: {}", "退出码 {}：{}";
    HookRefuses: "A hook did not let this prompt in: {}", "钩子未放行此提示：{}";
    HookHalts: "A hook ended the turn: {}", "钩子结束了本回合：{}";
    HookStops: "A hook has sent the model on {} times; the turn ends here.", "钩子已让模型继续 {} 次；本回合到此结束。";
    // Memory
    FactLarge: "it has {} bytes, more than {}", "它有 {} 字节，超过 {}";
    FactNotText: "it is not text", "它不是文本";
    FactCut: "its front matter has no end; close it with a line of ---", "其前置信息没有结尾；请用一行 --- 结束";
    FactEmpty: "it is empty", "它是空的";
    FactBadId: "its id {} can only have letters, digits, - _ and .", "其 id {} 只能包含字母、数字、- _ 和 .";
    FactDouble: "{} has the same id; take the id line out to make it a fact of its own", "{} 的 id 相同；删去 id 行即成为单独的记忆";
    FactLink: "it is a link", "它是链接";
    FactNotFile: "it is not a file", "它不是文件";
    FactUnread: "it cannot be read: {}", "无法读取：{}";
    FactLeft: "{} was left out of memory: {}.", "{} 未纳入记忆：{}。";
    FactsLeft: "{} more files of memory were left out; /memory files lists them.", "另有 {} 个记忆文件未纳入；/memory files 可列出。";
    Recalled: "Recalled: {} (/memory recall says why)", "想起：{}（/memory recall 说明原因）";
    HelpMemory: "what is remembered: list, show, edit, archive, restore, why it was recalled", "记忆：列出、查看、编辑、归档、恢复、想起的原因";
    MemoryTitle: "Remembered", "记忆";
    MemoryNone: "Nothing is remembered here yet.", "尚无记忆。";
    MemoryArchivedTitle: "Archived", "已归档";
    MemoryArchivedNone: "Nothing was archived.", "没有已归档的记忆。";
    MemoryFound: "Remembered with: {}", "包含以下内容的记忆：{}";
    MemoryFoundNone: "Nothing is remembered with: {}", "没有包含以下内容的记忆：{}";
    MemoryShow: "show", "查看";
    MemoryEdit: "where its file is, to edit it", "显示文件位置以便编辑";
    MemoryArchive: "archive", "归档";
    MemoryRestore: "restore", "恢复";
    MemoryDoArchive: "Archived: {}. /memory restore {} brings it back.", "已归档：{}。/memory restore {} 可恢复。";
    MemoryDoRestore: "Restored: {}.", "已恢复：{}。";
    MemoryPath: "{}\nEdit it as you like; what it says counts from the next prompt on.", "{}\n可随意编辑；从下一条提示起生效。";
    MemoryUsage: "/memory takes: list, show ID, search WORDS, edit ID, archive ID, archived, restore ID, recall, files", "/memory 可用：list、show ID、search 词语、edit ID、archive ID、archived、restore ID、recall、files";
    MemoryFilesNone: "Every file of memory can be read.", "所有记忆文件均可读取。";
    MemoryOff: "Recall is off: ostler config memory on", "自动想起已关闭：ostler config memory on";
    MemoryNoRecall: "Nothing was recalled with your last prompt: no fact is distinctively about it.", "上一条提示没有想起任何记忆：没有明显相关的内容。";
    MemoryGeneric: "Nothing was recalled with your last prompt: it has only words that everybody says.", "上一条提示没有想起任何记忆：其中只有常用词。";
    MemoryNoPrompt: "There was no prompt yet for which anything could be recalled.", "还没有可供想起记忆的提示。";
    MemoryColFact: "fact", "记忆";
    MemoryColFate: "what became of it", "结果";
    MemoryColScore: "score", "得分";
    MemoryColWords: "by these words", "匹配词";
    FateTold: "told", "已告知";
    FateKnown: "told before", "之前已告知";
    FateCommon: "its words are too common here", "匹配词过于常见";
    FateFaint: "others match much better", "其他匹配更好";
    FateFull: "there was no more room", "已达上限";
    MemoryNoMore: "not rare here", "此处不罕见";
    // Plain lines
    Approve: " -- approve?", " -- 批准？";
    KeyOnce: "[y]es, once", "[y] 允许一次";
    KeySession: "[s]ession", "[s] 本次会话";
    KeyAlways: "[a]lways", "[a] 始终";
    KeyNo: "[n]o, or why not: ", "[n] 拒绝，或写明原因：";
    KeyPlan: "  [y]es\n  [e]dit: e and the plan as it shall be, \\n for a new line\n  [n]o, keep planning, or what to change: ", "  [y] 批准\n  [e] 修改：e 加新计划，\\n 表示换行\n  [n] 继续计划，或写明修改意见：";
    AnswerWords: "answer: ", "回答：";
    AnswerNumber: "number, or your own words: ", "编号，或自行输入：";
    AnswerNumbers: "numbers with commas, or your own words: ", "编号（逗号分隔），或自行输入：";
    ToolRequested: "Tool requested: {}", "请求工具：{}";
    ToolFinished: "Tool finished: {}", "工具完成：{}";
    DoneIn: "Done. ({}s)", "完成。（{} 秒）";
    ErrorIs: "Error: {}", "错误：{}";
    WasInterrupted: "Interrupted", "已中断";
    TodoDone: "Todo: {} of {} done", "待办：{}/{} 已完成";
    RetryPlain: "Retry {} in {} s: {}", "第 {} 次重试，{} 秒后：{}";
    TokensPlain: "{} in ({} cached), {} out{}", "输入 {}（缓存 {}），输出 {}{}";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_every_language() {
        for word in Word::ALL {
            let (english, chinese) = word.texts();
            assert!(
                !english.trim().is_empty() && !chinese.trim().is_empty(),
                "{word:?}"
            );
            let holes = |text: &str| text.matches("{}").count();
            assert_eq!(holes(english), holes(chinese), "{word:?}");
        }
    }

    #[test]
    fn languages_by_name() {
        for (name, expect) in [
            ("zh_CN.UTF-8", Some(Language::Chinese)),
            ("zh", Some(Language::Chinese)),
            ("en_US.UTF-8", Some(Language::English)),
            ("C", Some(Language::English)),
            ("de_DE", None),
            ("", None),
        ] {
            assert_eq!(Language::from_name(name), expect, "{name}");
        }
        assert_eq!(Language::Chinese.fill(Word::Context, &["7"]), "上下文 7%");
    }
}
