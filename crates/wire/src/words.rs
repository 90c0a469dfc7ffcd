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

    /// The same with its holes filled: `{}` in order, `{1}` by its number. What is left over is left out.
    pub fn fill(self, word: Word, values: &[&str]) -> String {
        filled(self.say(word), values)
    }

    /// The form for one (`{} file¦{} files`: before the bar) or for many, filled. Chinese has one form.
    pub fn many(self, word: Word, number: usize, values: &[&str]) -> String {
        let text = self.say(word);
        let form = match (text.split_once('¦'), number) {
            (Some((one, _)), 1) => one,
            (Some((_, many)), _) => many,
            (None, _) => text,
        };
        filled(form, values)
    }
}

/// A number for people: `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn filled(text: &str, values: &[&str]) -> String {
    let mut out = String::new();
    let mut next = 0;
    let mut rest = text;
    while let Some((start, end, at)) = hole(rest) {
        out.push_str(&rest[..start]);
        let index = at.unwrap_or(next);
        next += usize::from(at.is_none());
        out.push_str(values.get(index).copied().unwrap_or_default());
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// Where the next hole begins and ends, and its number if it has one.
fn hole(text: &str) -> Option<(usize, usize, Option<usize>)> {
    text.match_indices('{').find_map(|(start, _)| {
        let (inner, _) = text[start + 1..].split_once('}')?;
        let number = match inner {
            "" => None,
            digit if digit.len() == 1 => Some(digit.parse().ok()?),
            _ => return None,
        };
        Some((start, start + inner.len() + 2, number))
    })
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
    OwnQuestion: "Ostler asks", "Ostler 询问";
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
    BudgetEnds: "{} Raise {}, or lower `[agent] max_tokens`, which bounds what an answer can cost.", "{}请提高 {}，或降低限定回答费用的 `[agent] max_tokens`。";
    BudgetRunKeys: "`[budget] run` or `--budget`", "`[budget] run` 或 `--budget`";
    BudgetRaised: "The budget of the {} was raised.", "{}的预算已提高。";
    BudgetNoPrice: "There is a budget in USD, and the price of {} is not known. Set `price` of its provider (0 for a free one), or a budget in tokens.", "预算以美元计，而 {} 的价格未知。请设置其提供商的 `price`（免费则为 0），或改用以令牌计的预算。";
    BudgetRaise: "raise it and go on", "提高预算并继续";
    BudgetTo: "to {}, until Ostler ends", "至 {}，直到 Ostler 退出";
    BudgetStop: "stop here", "到此为止";
    SpanRun: "run", "本次运行";
    SpanSession: "session", "会话";
    SpanDay: "day", "今日";
    SpanChild: "task", "任务";
    SpanRole: "role {}", "角色 {}";
    TokenCount: "{} tokens", "{} 令牌";
    OwnWords: "or in your own words", "或自行输入";
    PickKeys: "↑↓ choose · enter take · type to search · esc close", "↑↓ 选择 · 回车确认 · 输入以搜索 · esc 关闭";
    ActionKeys: "tab the next · esc close", "tab 下一个 · esc 关闭";
    AskKeys: "↑↓ choose · enter take · esc stop · pgup/pgdn scroll", "↑↓ 选择 · 回车确认 · esc 停止 · pgup/pgdn 滚动";
    TaskAskKeys: "↑↓ choose · enter take · esc no · pgup/pgdn scroll", "↑↓ 选择 · 回车确认 · esc 拒绝 · pgup/pgdn 滚动";
    MultiKeys: "space marks · enter sends · esc stop", "空格标记 · 回车发送 · esc 停止";
    TaskMultiKeys: "space marks · enter sends · esc no answer", "空格标记 · 回车发送 · esc 不回答";
    NoChange: "no change: the file has this content already", "没有变化：文件内容已是如此";
    MoreRows: "… {} more row¦… {} more rows", "……还有 {} 行";
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
    DraftWaits: "Something you wrote was not sent; it is kept: ostler resume {}", "有一段未发送的文字已保留：ostler resume {}";
    Resumed: "goes on with {}", "继续会话 {}";
    NewSession: "a new session", "新会话";
    CannotOpen: "the session could not be opened: {}", "无法打开会话：{}";
    SessionOver: "the session has ended", "会话已结束";
    NoTheme: "there is no theme {}; there are: {}", "没有主题 {}；可用：{}";
    NoThemes: "plain lines have no colours to choose", "纯文本模式没有配色可选";
    VimNormal: "NORMAL", "普通";
    VimVisual: "VISUAL", "可视";
    PagerKeys: "↑↓ pgup pgdn g G · / search · q back", "↑↓ pgup pgdn g G · / 搜索 · q 返回";
    PagerFoundKeys: "n N the next · / search · q back", "n N 下一个 · / 搜索 · q 返回";
    SearchFor: "search: {}", "搜索：{}";
    HistorySearch: "history: {}", "历史：{}";
    PasteChip: "[pasted {size} KB, {lines} lines #{n}]", "[粘贴 {size} KB，{lines} 行 #{n}]";
    PasteLineChip: "[pasted {size} KB #{n}]", "[粘贴 {size} KB #{n}]";
    ImageChip: "[image #{n} {label}]", "[图片 #{n} {label}]";
    TooLarge: "that is more than a prompt can take", "超出提示可容纳的大小";
    // Cells
    MoreLines: "… {} more line¦… {} more lines", "……还有 {} 行";
    EarlierLines: "… +{} line¦… +{} lines", "……前面 {} 行";
    Picture: "[image: {}]", "[图片：{}]";
    Lines: "{} line¦{} lines", "{} 行";
    Matches: "{} match¦{} matches", "{} 处匹配";
    Files: "{} file¦{} files", "{} 个文件";
    Entries: "{} entry¦{} entries", "{} 项";
    Results: "{} result¦{} results", "{} 条结果";
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
    NotChanged: "unchanged", "未改变";
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
    HelpCost: "tokens and cost of this session", "本会话的令牌与费用";
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
    HistoryBehind: "The index is still being made: {} of {} logs is missing in part. Search again for more.¦The index is still being made: {} of {} logs are missing in part. Search again for more.", "索引仍在建立：{}/{} 个日志尚不完整。请再次搜索。";
    HistoryBusy: "{} of {} logs may be missing in part: another session is writing to the index.", "{}/{} 个日志可能不完整：另一个会话正在写入索引。";
    HistoryStuck: "{} of {} logs may be missing in part: the index cannot be written ({}).", "{}/{} 个日志可能不完整：无法写入索引（{}）。";
    HistoryUnkept: "The index cannot be kept at {}: {}.", "索引无法保存在 {}：{}。";
    HistoryNoWords: "No words to look for; name some.", "没有要查找的词；请给出一些。";
    HistoryBroken: "The history cannot be searched: {}.", "无法搜索历史：{}。";
    HistoryNoSession: "There is no session {} in the history; take one from a search.", "历史中没有会话 {}；请从搜索结果中选取。";
    HistoryAmbiguous: "{} sessions begin with {}; give more of it.", "有 {} 个会话以 {} 开头；请给出更多字符。";
    HistoryNoEntry: "Session {} has no entry {} with words in it.", "会话 {} 没有含文字的第 {} 条。";
    HistoryRebuilt: "The index was damaged and has been made anew.", "索引已损坏，现已重建。";
    ActResume: "resume", "继续";
    ActFork: "fork", "复制";
    ActUse: "use", "使用";
    Turns: "{} turn¦{} turns", "{} 回合";
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
    ColTokens: "tokens", "令牌";
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
    CacheRate: "{}% of all prompt tokens were cached.", "{}% 的提示令牌命中缓存。";
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
    LoginWaits: "\nWaiting, {} minute at most …¦\nWaiting, {} minutes at most …", "\n等待中，最多 {} 分钟……";
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
    ModelFacts: "{}k tokens", "{}k 令牌";
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
    CommandWaits: "{} comes when this turn is over.", "{} 将在本轮结束后执行。";
    SaidWaits: "{} comes after this step.", "{} 将在这一步之后执行。";
    RewindBusy: "Not while it works: stop it first (esc), then rewind.", "工作期间不可用：请先停止（esc），再撤回。";
    RewindNoPoint: "There is no prompt {} to go back to. /rewind lists them.", "没有第 {} 条提示。见 /rewind。";
    RewindNoFiles: "No files were saved then.", "当时没有保存文件。";
    RewindNoUndo: "There is no rewind to undo.", "没有可取消的撤回。";
    RewindFailed: "Nothing was rewound: {}.", "未撤回：{}。";
    RewindUnseen: "{} file changed outside this session:¦{} files changed outside this session:", "有 {} 个文件在会话之外被修改：";
    RewindKeep: "rewind the others, keep these", "撤回其他，保留这些";
    RewindForce: "rewind these as well (undo brings them back)", "也撤回这些（可取消）";
    RewindKept: "Left as they are: {}", "保持不变：{}";
    RewoundBoth: "Rewound to before “{}”: the conversation, and files ({} changed). /rewind undo brings it all back.", "已撤回到“{}”之前：对话与文件（{} 处）。/rewind undo 可取消。";
    RewoundCode: "Files are as they were before “{}” ({} changed). /rewind undo brings them back.", "文件已恢复到“{}”之前（{} 处）。/rewind undo 可取消。";
    RewoundTalk: "The conversation is as it was before “{}”; files stay. /rewind undo brings it back.", "对话已撤回到“{}”之前；文件不变。/rewind undo 可取消。";
    RewindUndone: "The rewind is undone ({} file changed). /rewind undo takes it back again.¦The rewind is undone ({} files changed). /rewind undo takes it back again.", "已取消撤回（{} 处文件）。再次 /rewind undo 可恢复。";
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
    FoldedWork: "Folded older work (answers {}, calls {}): about {} → {} tokens", "已折叠较早的工作（回答 {}，调用 {}）：约 {} → {} 令牌";
    FoldedByLog: "from the log alone", "仅依据日志";
    FoldedFocus: "focus: {}", "重点：{}";
    FoldDone: "Folded. The originals are in {}.", "已折叠。原文在 {}。";
    FoldDoneOnly: "Folded.", "已折叠。";
    FoldNothing: "There is nothing to fold yet.", "还没有可折叠的内容。";
    FoldStopped: "Interrupted; nothing was folded.", "已中断；没有折叠任何内容。";
    FoldLittle: "The prompt takes most of the window, and folding older work would save too little. Begin anew: {}", "提示占用了大部分窗口，折叠较早的工作节省太少。请重新开始：{}";
    FoldPinned: "Your own messages and the digests take more than half of the window (about {} of {} tokens); folding more would not help. Begin anew: {}", "你的消息与摘要已占窗口一半以上（约 {} / {} 令牌）；继续折叠没有帮助。请重新开始：{}";
    FoldNoSummary: "The model's summary could not be used ({}); the digest was made from the log alone.", "无法使用模型的总结（{}）；摘要仅依据日志生成。";
    FoldNoArchive: "The archive {} could not be written ({}); the session log still has everything.", "无法写入归档 {}（{}）；会话日志仍保留全部内容。";
    PromptTooLong: "The prompt is too long for the model. Fold it with /compact, or begin anew: {}", "提示超出模型的窗口。请用 /compact 折叠，或重新开始：{}";
    WindowFull: "The context is {} % full ({} of {} tokens). {}", "上下文已用 {} %（{} / {} 令牌）。{}";
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
    WindowUnknown: "The prompt has about {} tokens, and the window of this model is not known (context_window). Before it is full, fold it with /compact, or begin anew: {}", "提示约有 {} 令牌，而此模型的窗口未知（context_window）。在用满之前，请用 /compact 折叠，或重新开始：{}";
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
    // Why a call may run, or not
    WhyReserved: "Ostler keeps it itself, and no tool changes it", "它由 Ostler 自己维护，任何工具都不能更改";
    WhyKeys: "Ostler keeps keys in it", "Ostler 在其中保存密钥";
    WhyDenyRule: "a deny rule speaks of it", "有 deny 规则涉及它";
    WhyRemembered: "what is remembered needs a fresh yes", "记忆的内容需要再次确认";
    WhyYolo: "everything that is not denied may run", "未被拒绝的均可运行";
    WhyAskRule: "an ask rule speaks of it", "有 ask 规则涉及它";
    WhyNothing: "it changes nothing", "它不做任何更改";
    WhyAllowed: "allow rules cover all of it", "allow 规则已全部覆盖";
    WhyModeDeny: "no rule allows it, and the mode is deny", "没有规则允许它，且模式为 deny";
    WhyHidden: "what it does cannot be told for sure, and there are rules that it might break", "无法确定它的作用，且它可能违反现有规则";
    WhyNoRuleAgainst: "no rule speaks against it", "没有规则反对";
    WhyUnsure: "what it does cannot be told for sure", "无法确定它的作用";
    WhyNoRule: "no rule allows it", "没有规则允许它";
    WhyLeaves: "it leaves this machine while a plan is made", "计划期间它会离开本机";
    WhySession: "the person allowed it for this session", "你已在本次会话内允许";
    WhyHookAllowed: "a hook allowed it", "钩子允许了它";
    WhyHookAsks: "a hook wants it asked", "钩子要求询问";
    // How a session stands
    RowMode: "mode", "模式";
    RowApproval: "approval", "批准";
    RowKey: "key", "密钥";
    RowRoot: "root", "根目录";
    RowTools: "tools", "工具";
    RowPrompt: "prompt", "提示";
    RowTasks: "tasks", "任务";
    AboutTokens: "about {} tokens", "约 {} 令牌";
    ApprovalIs: "Approval: {}", "批准：{}";
    ApproveUsage: "/approve does not know `{}`. Write ask, all, none, or a time such as 10m.", "/approve 不认识 `{}`。请写 ask、all、none 或如 10m 的时长。";
    ModeIs: "Mode: {}", "模式：{}";
    ModeIsPlan: "Mode: plan. Nothing is changed until you approve a plan; /mode normal leaves it.", "模式：plan。批准计划前不做任何修改；/mode normal 退出。";
    NoMode: "There is no mode `{}`. Write {}.", "没有模式 `{}`。请写 {}。";
    PlanWindow: "{}; the approved plan runs without asking until the turn ends", "{}；已批准的计划在本回合内不再询问";
    PermissionsUsage: "Write /permissions allow|ask|deny|remove RULE, such as /permissions allow Bash(cargo test:*).", "请写 /permissions allow|ask|deny|remove 规则，例如 /permissions allow Bash(cargo test:*)。";
    RuleUnread: "{}: the rule `{}` cannot be read: {}. Write `Tool`, `Tool(spec)` or `Bash(words:*)`.", "{}：无法读取规则 `{}`：{}。请写 `Tool`、`Tool(spec)` 或 `Bash(words:*)`。";
    RuleNoEnd: "`)` is missing", "缺少 `)`";
    RuleNoName: "the tool's name is missing", "缺少工具名称";
    RuleBadName: "a tool's name has only letters, digits, `_` and `-`", "工具名称只能含有字母、数字、`_` 和 `-`";
    RuleEmptyPart: "the part in brackets is empty", "括号中为空";
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
    TrustAlways: "always", "始终";
    TrustKeep: "{} in {}", "{}，保存到 {}";
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
    EndMaxSteps: "Stopped after {} step (max_steps).¦Stopped after {} steps (max_steps).", "已在 {} 步后停止（max_steps）。";
    EndCutTwice: "The answer was cut off twice in a row. Check the connection and send the prompt again.", "回答连续两次中断。请检查网络后重新发送。";
    EndRefusal: "The model refused to answer. Say it differently, or use another model.", "模型拒绝回答。请换种说法，或换用其他模型。";
    EndEmpty: "The model answered with nothing, twice. Try again, or use another model.", "模型两次给出空回答。请重试，或换用其他模型。";
    EndRepeats: "Stopped: the model kept making the same {} call with the same result.", "已停止：模型反复进行同样的 {} 调用，结果相同。";
    AskClosed: "That question waits no longer: it was answered or withdrawn.", "该问题已不再等待：已有人回答或已撤回。";
    NotLive: "No session {} is open in this process.", "此进程中没有打开的会话 {}。";
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
    // Models and their endpoints
    LlmOverflow: "the prompt does not fit {} ({}){}", "提示超出 {} 的窗口（{}）{}";
    LlmRefused: "{} refused the request ({}){}", "{} 拒绝了请求（{}）{}";
    LlmNoModel: "model {} not found at {} (404){}. Check the model's name and the base_url of {}", "在 {1} 找不到模型 {0}（404）{2}。请检查模型名称与 {3} 的 base_url";
    LlmRedirects: "{} redirects to {}. Set the base_url of {} to the new address", "{} 转到 {}。请将 {} 的 base_url 设为新地址";
    LlmUnknownPlace: "an unknown place", "未知地址";
    LlmAnswered: "{} answered {}{}", "{} 回答 {}{}";
    LlmAuth: "{} {} ({}){}. {}", "{} {}（{}）{}。{}";
    LlmBadKey: "refused the key", "拒绝了密钥";
    LlmBadKeyFrom: "refused the key from {}", "拒绝了密钥“{}”";
    LlmNoKey: "wants a key and none is set", "需要密钥，但没有设置";
    LlmSetKey: "Set its api_key_env, or run `ostler setup`", "请设置其 api_key_env，或运行 `ostler setup`";
    LlmCheckKey: "Check it, or run `ostler setup`", "请检查，或运行 `ostler setup`";
    LlmNoTls: "no secure connection to {}: {}. Behind a company proxy, name its certificate with SSL_CERT_FILE or ca_file", "无法与 {} 建立安全连接：{}。若在公司代理之后，请用 SSL_CERT_FILE 或 ca_file 指定其证书";
    LlmNoHost: "the address of {} cannot be found ({}). Check the base_url of {} and the network", "找不到 {} 的地址（{}）。请检查 {} 的 base_url 与网络";
    LlmNoServer: "{} refused the connection. Is the server running, and is the base_url of {} right?", "{} 拒绝连接。服务器是否在运行，{} 的 base_url 是否正确？";
    LlmNoLine: "no connection to {}: {}", "无法连接 {}：{}";
    LlmBrokeWithin: "the connection to {} broke in the middle of the answer ({})", "与 {} 的连接在回答中途断开（{}）";
    LlmBrokeBefore: "the connection to {} broke before an answer came ({})", "与 {} 的连接在回答之前断开（{}）";
    LlmLateConnect: "no connection to {} within {} (connect timeout)", "未能在 {1} 内连接 {0}（connect 超时）";
    LlmLateHeaders: "{} took the request but did not answer within {} (headers timeout)", "{} 收到请求，但 {} 内没有回答（headers 超时）";
    LlmLateToken: "{} sent no token within {} (first-token timeout)", "{} 在 {} 内没有发送令牌（first-token 超时）";
    LlmLateIdle: "nothing more came from {} for {} (idle timeout)", "{} 已有 {} 没有发送内容（idle 超时）";
    LlmCut: "{} closed the connection before the answer was complete", "{} 在回答完成之前关闭了连接";
    LlmNoAnswer: "{} answered with {} instead of a model's answer: \"{}\". Check the base_url of {}", "{} 回答的是{}，而不是模型的回答：“{}”。请检查 {} 的 base_url";
    LlmSomething: "something else", "其他内容";
    LlmWebPage: "a web page", "网页";
    LlmTooLarge: "{} sent an answer of more than {} MiB", "{} 的回答超过 {} MiB";
    LlmSaid: ": {}", "：{}";
    LlmLookupUnknown: "failed to lookup address information: Name or service not known", "域名解析失败：未知的名称或服务";
    LlmLookupLater: "failed to lookup address information: Temporary failure in name resolution", "域名解析失败：暂时无法解析";
    LlmLookupNone: "failed to lookup address information: nodename nor servname provided, or not known", "域名解析失败：未知的名称或服务";
    LlmUnknown: "unknown", "未知";
    LlmSeconds: "{} s", "{} 秒";
    LlmInterrupted: "the request was interrupted", "请求已中断";
    LlmGrewPast: "the answer grew past {} MB and was stopped; ask for less at once", "回答超过 {} MB，已停止；请一次少要一些";
    LlmManyParts: "the answer held more than {} parts and was stopped", "回答超过 {} 个部分，已停止";
    LlmCutOff: "the answer was cut off: the stream ended before the endpoint said it was complete", "回答被截断：流在端点宣告完成之前就结束了";
    LlmLacks: "the endpoint answered without `{}`; check base_url and the provider's kind", "端点的回答中没有 `{}`；请检查 base_url 与提供商的 kind";
    LlmSentError: "the endpoint sent error {} without an explanation", "端点返回错误 {}，没有说明原因";
    LlmSentSomeError: "the endpoint sent an error without an explanation", "端点返回错误，没有说明原因";
    LlmOffProtocol: "the endpoint sent what its protocol does not allow ({}){}: {}", "端点发送了协议不允许的内容（{}）{}：{}";
    LlmPageHint: "; it looks like a web page, so check base_url", "；看起来是网页，请检查 base_url";
    LlmLongEvent: "the server sent a single event of more than {} MiB; this is not an answer that can be read", "服务器发送的单个事件超过 {} MiB；无法作为回答读取";
    LlmNoKind: "provider {} has the unknown kind `{}`; known are {}", "提供商 {} 的 kind `{}` 未知；可用：{}";
    LlmNoPlugin: "there is no plugin {} that provides models; see [[plugins]] provides = \"provider\"", "没有提供模型的插件 {}；请参阅 [[plugins]] provides = \"provider\"";
    LlmPluginSilent: "the plugin has sent nothing of its answer for too long, and was ended", "插件太久没有发送回答，已被结束";
    LlmPluginMute: "the plugin failed and does not say why", "插件失败，且没有说明原因";
    LlmBrokeOff: "the endpoint broke the answer off ({})", "端点中止了回答（{}）";
    LlmBadCall: "the model wrote a call that the endpoint could not read ({}){}", "模型写出的调用端点无法读取（{}）{}";
    LlmEmptyStop: "the endpoint stopped without an answer ({}){}", "端点没有回答就停止了（{}）{}";
    LlmWindowFull: "the conversation fills the model's context window", "对话已占满模型的上下文窗口";
    LlmGaveUp: "the endpoint gave the answer up without saying why", "端点放弃了回答，没有说明原因";
    LlmBadQuirks: "the quirks of {} at {} cannot be read: {}", "无法读取 {1} 上 {0} 的 quirks：{2}";
    LlmBadBase: "the base_url of {} ({}) cannot be read ({}); it should look like https://host/path", "{} 的 base_url（{}）无法读取（{}）；应形如 https://host/path";
    LlmNotHttp: "the base_url of {} ({}) is not an http or https address; it should look like https://host/path", "{} 的 base_url（{}）不是 http 或 https 地址；应形如 https://host/path";
    LlmNoTlsSetup: "TLS cannot be set up: {}", "无法设置 TLS：{}";
    LlmNoClient: "the HTTP client cannot be set up: {}", "无法设置 HTTP 客户端：{}";
    LlmBadHeader: "the header `{}` for {} has characters that cannot be sent; look for line breaks and quotes in the key and in `headers`", "发给 {1} 的请求头 `{0}` 含有无法发送的字符；请检查密钥与 `headers` 中是否有换行或引号";
    LlmBadTrustFile: "the certificate file {} cannot be read: {}", "无法读取证书文件 {}：{}";
    LlmNoCertificate: "the certificate file {} holds no usable certificate in PEM form", "证书文件 {} 中没有可用的 PEM 证书";
    LlmNoTrustStore: "the system's trust store cannot be read: {}", "无法读取系统的信任证书库：{}";
    LlmPatience: "{}. It wants {} to pass first", "{}。它要求先等待 {}";
    LlmMinutes: "{} min", "{} 分钟";
    LlmHours: "{} h", "{} 小时";
    LlmHoursMinutes: "{} h {} min", "{} 小时 {} 分钟";
    // What the system says
    IoNumber: " (os error {})", "（系统错误 {}）";
    IoNone: "No such file or directory{}", "没有那个文件或目录{}";
    IoDenied: "Permission denied{}", "权限不足{}";
    IoNotPermitted: "Operation not permitted{}", "不允许的操作{}";
    IoExists: "File exists{}", "文件已存在{}";
    IoNoFolder: "Not a directory{}", "不是目录{}";
    IoFolder: "Is a directory{}", "是一个目录{}";
    IoNotEmpty: "Directory not empty{}", "目录非空{}";
    IoReadOnly: "Read-only file system{}", "只读文件系统{}";
    IoFull: "No space left on device{}", "设备上没有剩余空间{}";
    IoQuota: "Disk quota exceeded{}", "超出磁盘配额{}";
    IoTooLarge: "File too large{}", "文件过大{}";
    IoLongName: "File name too long{}", "文件名过长{}";
    IoAcross: "Invalid cross-device link{}", "不能跨设备链接{}";
    IoTextBusy: "Text file busy{}", "程序文件正被使用{}";
    IoBusy: "Device or resource busy{}", "设备或资源正忙{}";
    IoMemory: "Cannot allocate memory{}", "无法分配内存{}";
    IoLongList: "Argument list too long{}", "参数列表过长{}";
    IoBadArgument: "Invalid argument{}", "无效的参数{}";
    IoNotUtf8: "stream did not contain valid UTF-8{}", "内容不是有效的 UTF-8{}";
    IoEnd: "unexpected end of file{}", "文件意外结束{}";
    IoNotNow: "Resource temporarily unavailable{}", "资源暂时不可用{}";
    IoInterrupted: "Interrupted system call{}", "系统调用被中断{}";
    IoBroken: "Input/output error{}", "输入/输出错误{}";
    IoNoProgram: "Exec format error{}", "可执行文件格式错误{}";
    IoSystemFiles: "Too many open files in system{}", "系统中打开的文件过多{}";
    IoManyFiles: "Too many open files{}", "打开的文件过多{}";
    IoPipe: "Broken pipe{}", "管道已断开{}";
    IoLate: "Connection timed out{}", "连接超时{}";
    IoRefused: "Connection refused{}", "连接被拒绝{}";
    IoReset: "Connection reset by peer{}", "连接被对方重置{}";
    IoAborted: "Software caused connection abort{}", "连接被本机中止{}";
    IoNoLine: "Transport endpoint is not connected{}", "套接字尚未连接{}";
    IoAddressTaken: "Address already in use{}", "地址已被占用{}";
    IoNoAddress: "Cannot assign requested address{}", "无法分配所请求的地址{}";
    IoNoRoute: "No route to host{}", "没有到主机的路由{}";
    IoNoNetwork: "Network is unreachable{}", "网络不可达{}";
    IoNetworkDown: "Network is down{}", "网络已断开{}";
    // Logs and sessions that cannot be used
    LogLocked: "Session {} is open in another process. Close it there, or continue on a copy with `--fork {}`.", "会话 {} 在另一个进程中打开。请在那里关闭，或用 `--fork {}` 在副本中继续。";
    LogFault: "The session log {} {}: {}. {}", "会话日志 {} {}：{}。{}";
    LogNotMade: "cannot be created", "无法创建";
    LogNotOpened: "cannot be opened", "无法打开";
    LogNotRead: "cannot be read", "无法读取";
    LogNotWritten: "cannot be written", "无法写入";
    LogNotLocked: "cannot be locked", "无法锁定";
    LogHintSpace: "Free some space and send the prompt again, or run with --no-save.", "请腾出空间后重新发送，或使用 --no-save。";
    LogHintRights: "Make the folder writable, set OSTLER_HOME to one that is, or run with --no-save.", "请使文件夹可写，将 OSTLER_HOME 设为可写的文件夹，或使用 --no-save。";
    LogHintDisk: "Check the disk, or run with --no-save.", "请检查磁盘，或使用 --no-save。";
    StoreNoId: "`{}` is not a session id. `ostler sessions list` shows them; the first 8 characters are enough.", "`{}` 不是会话编号。见 `ostler sessions list`；前 8 个字符即可。";
    StoreNoSession: "There is no session {}. `ostler sessions list` shows them.", "没有会话 {}。见 `ostler sessions list`。";
    StoreSeveral: "{} sessions begin with {}; give more of it.", "有 {} 个会话以 {} 开头；请多写几位。";
    StoreNone: "There is no session of this project yet. Start one with `ostler` or `ostler exec`.", "此项目还没有会话。请用 `ostler` 或 `ostler exec` 开始一个。";
    StoreUndeleted: "{} cannot be deleted: {}.", "无法删除 {}：{}。";
    // What a session is opened with
    DamageTorn: "The last entry of this session was cut off and is lost.", "此会话的最后一条记录不完整，已丢失。";
    DamageLines: "{} unreadable line of this session log was left out{}.¦{} unreadable lines of this session log were left out{}.", "此会话日志有 {} 行无法读取，已略过{}。";
    DamageAlso: ", and the last entry was cut off", "，且最后一条记录不完整";
    PromptGone: "The stored prompt of this session is gone; it goes on with a new one, so the prompt cache starts over.", "此会话保存的提示已丢失；将使用新提示，缓存重新开始。";
    InstructionsFrom: "Instructions: {}", "指令文件：{}";
    ModelGone: "This session was with {}, which cannot be used now ({}); it goes on with {}.", "此会话原用 {}，现在无法使用（{}）；改用 {}。";
    SessionMoved: "This session began in {}; it goes on in {}. Paths in it may mean other files now.", "此会话始于 {}；现在于 {} 继续。其中的路径可能指向其他文件。";
    TemplateLarge: "it has {} bytes, more than {}", "有 {} 字节，超过 {}";
    TemplateName: "its name has characters that cannot be typed", "名称含有无法输入的字符";
    TemplateOpen: "its front matter has no end", "前言没有结尾";
    TemplateLine: "its front matter has a line without a colon: “{}”", "前言有一行没有冒号：“{}”";
    TemplateEmpty: "it is empty", "为空";
    AgentsRoles: "Roles", "角色";
    AgentsReads: "reads only", "只读";
    AgentsOff: "off", "已停用";
    AgentsRun: "At work", "正在运行";
    AgentsRan: "Ended", "已结束";
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
    SkillsListed: "There is no skill {}. `ostler skills list` shows them.", "没有技能 {}。`ostler skills list` 可列出全部。";
    ColSkill: "skill", "技能";
    ColRuns: "runs", "运行方式";
    ColRole: "role", "角色";
    ModelOfSession: "of the session", "随会话";
    SkillRunAs: "`runAs: {}` is neither inline nor subagent", "`runAs: {}` 既非 inline 也非 subagent";
    SourceOutside: "it leads out of the project, to {}", "它指向项目之外：{}";
    MoreLeft: "{} more files are left out; `ostler skills list` and `ostler agents list` name them.", "另有 {} 个文件未纳入；`ostler skills list` 与 `ostler agents list` 会列出。";
    SkillLong: "its name has more than {} characters", "名称超过 {} 个字符";
    SkillsMany: "{} skills of {} are left out, by their names: a folder holds 500. Move some away.", "{1} 中按名称有 {0} 个技能未纳入：每个文件夹最多 500 个。请移走一些。";
    SkillLeft: "The skill {} is left out: {}.", "技能 {} 已忽略：{}。";
    RoleFallbacks: "`fallback_models` is not supported; name one model in `model`", "不支持 `fallback_models`；请在 `model` 中指定一个模型";
    RoleLeft: "The role {} is left out: {}.", "角色 {} 已忽略：{}。";
    TemplateLeft: "The command {} was left out: {}.", "命令 {} 已略过：{}。";
    FileLeft: "{} was left out: instruction files are over {} bytes together.", "{} 已略过：指令文件合计超过 {} 字节。";
    FileHidden: "{} has {} character that nobody can see (control characters, hidden or reversed text); it was left out.¦{} has {} characters that nobody can see (control characters, hidden or reversed text); they were left out.", "{} 含 {} 个不可见字符（控制字符、隐藏或反向文本），已去除。";
    FileUnread: "{} cannot be read: {}.", "无法读取 {}：{}。";
    FileElsewhere: "it is a link to a file elsewhere", "它链接到别处的文件";
    ImportLeft: "The import @{} in {} was left out: {}.", "导入 @{}（{}）已略过：{}。";
    ImportLeaves: "it leaves the folder of its file", "它超出了文件所在的文件夹";
    ImportDeep: "imports are nested too deep", "导入嵌套过深";
    ImportNone: "there is no such file", "没有此文件";
    CacheBroke: "entry {}: the prompt broke at byte {} ({}), cause: {}; about {} tokens were read again", "第 {} 条：提示在第 {} 字节处中断（{}），原因：{}；约重读 {} 令牌";
    CacheShares: "entry {}: only {} of the {} bytes of the prompt before are shared", "第 {} 条：与前一提示仅共享 {} 字节，共 {} 字节";
    // Servers
    McpNone: "No MCP servers. Add one: ostler mcp add <name> -- <command>", "没有 MCP 服务器。添加：ostler mcp add <名称> -- <命令>";
    McpNoServer: "There is no MCP server {}.", "没有 MCP 服务器 {}。";
    McpTitle: "MCP servers", "MCP 服务器";
    McpIdle: "starts when it is needed", "需要时启动";
    McpStarting: "starting", "正在启动";
    McpReady: "ready", "就绪";
    McpReconnect: "reconnect", "重新连接";
    McpReconnects: "{} is being connected anew.", "正在重新连接 {}。";
    McpTrust: "trust its read-only tools while planning", "计划模式下信任其只读工具";
    McpUntrust: "trust it no longer", "不再信任";
    McpTrusted: "Tools of {} that may be used while planning: {}.", "{} 中计划模式下可用的工具：{}。";
    McpUntrusted: "Tools of {} that ask again while planning: {}.", "{} 中计划模式下会再次询问的工具：{}。";
    McpNoReaders: "{} has no tool that says it only reads.", "{} 没有声明为只读的工具。";
    McpTrustKept: "Kept in {}.", "已保存到 {}。";
    McpTrustLost: "It holds for this session only, because it could not be kept: {}", "仅本次会话有效，无法保存：{}";
    McpLogin: "copy the command to log in", "复制登录命令";
    McpLoginCommand: "ostler mcp login {}", "ostler mcp login {}";
    McpWantsPage: "{} asks: {} Open {} in a browser.", "{} 请求：{} 请在浏览器中打开 {}。";
    McpWantsField: "{} asks: {} {}", "{} 询问：{} {}";
    McpWasThere: "done", "已完成";
    McpDecline: "do not answer", "不回答";
    McpWantsModel: "{} wants {} to answer this (up to {} tokens, at your cost):", "{} 希望 {} 回答以下内容（最多 {} 令牌，费用由您承担）：";
    McpLetModel: "ask the model", "询问模型";
    McpYes: "yes", "是";
    McpNo: "no", "否";
    McpPromptFailed: "The prompt {} was not sent: {}", "提示 {} 未发送：{}";
    McpChanged: "MCP servers say something else of these tools than before: {}", "MCP 服务器对这些工具的说明已改变：{}";
    McpRestless: "MCP servers keep changing their tools; this session goes on with those it has", "MCP 服务器不断更改工具；本会话继续使用现有工具";
    McpServerFailed: "MCP server {}: {}", "MCP 服务器 {}：{}";
    McpAnd: "{}; {}", "{}；{}";
    McpLastWords: "{}\nIts last words:\n{}", "{}\n它最后的输出：\n{}";
    McpAgain: "{}. It is tried again in {} s", "{}。{} 秒后重试";
    McpClosing: "it is being closed", "它正在关闭";
    McpApart: "it is not connected", "它未连接";
    McpLost: "the connection was lost", "连接已断开";
    McpExited: "it exited with code {}", "它以代码 {} 退出";
    McpSignal: "signal {} ended it", "它被信号 {} 终止";
    McpOrphan: "it was lost with the watchdog", "它随守护进程一起丢失";
    McpLong: "it sent a message of more than {} MB and was stopped", "它发送了超过 {} MB 的消息，已被停止";
    McpNoSandbox: "it is to run in the sandbox, which is off", "它须在沙箱中运行，而沙箱已关闭";
    McpInstalled: "{}. Is `{}` installed and on PATH?", "{}。`{}` 是否已安装并在 PATH 中？";
    McpNoUrl: "{} is no URL: {}", "{} 不是网址：{}";
    McpNoHttp: "{} is neither http nor https", "{} 既不是 http 也不是 https";
    McpBadHeaderOf: "its header `{}` cannot be sent", "它的请求头 `{}` 无法发送";
    McpHelperFailed: "its headers_helper failed: {}", "它的 headers_helper 失败：{}";
    McpHelperPrints: "it must print a JSON object of strings ({})", "它须输出值为字符串的 JSON 对象（{}）";
    McpRefused: "it refused the connection: {}", "它拒绝了连接：{}";
    McpNoRevision: "it speaks no revision of the protocol that we know ({}); is there a newer version of it?", "它不支持我们所知的任何协议版本（{}）；它有更新的版本吗？";
    McpEndedEarly: "it ended before it answered", "它在回答之前就结束了";
    McpClosedEarly: "{} closed the connection before it answered: is that the address of an MCP server, and is it well?", "{} 在回答之前关闭了连接：这是 MCP 服务器的地址吗？它运行正常吗？";
    McpLoginHint: "it wants you to log in: run `ostler mcp login {}`", "它要求登录：请运行 `ostler mcp login {}`";
    McpNoTools: "it does not list its tools: {}", "它没有列出工具：{}";
    McpFirstTools: "only the first {} tools are used", "只使用前 {} 个工具";
    McpBigSchema: "the schema of {} is too large or too deep to be shown", "{} 的模式过大或过深，无法展示";
    McpSilent: "no sign of life for {}", "{} 内没有任何动静";
    McpEnded: "the connection ended: {}", "连接已结束：{}";
    McpWantsLogin: "it wants a login", "它要求登录";
    McpStopped: "stopped", "已停止";
    McpNoResult: "it answered with something else than a result", "它的回答不是结果";
    McpAsksBack: "it asked back more than {} times", "它反问了超过 {} 次";
    McpNoPrompt: "it answered with no prompt", "它的回答中没有提示";
    McpNoResource: "it answered with no resource", "它的回答中没有资源";
    McpAsksOther: "it asks for something unknown", "它请求了未知的内容";
    McpCancelled: "it cancelled the call", "它取消了调用";
    McpNobody: "nothing listens at {}: is the server running, and is that its address?", "{} 没有监听：服务器在运行吗？地址对吗？";
    McpNoHost: "the host of {} is not known (DNS): is the address right, and are you online?", "无法解析 {} 的主机名（DNS）：地址对吗？网络通吗？";
    McpNoTls: "no secure connection to {}: {}. A certificate of your own authority goes into [network] ca_file; a server without TLS has an address with http://", "无法与 {} 建立安全连接：{}。自有机构的证书请写入 [network] ca_file；没有 TLS 的服务器请用 http:// 地址";
    McpCertIssuer: "its certificate is of an issuer that this machine does not know", "其证书的颁发者不为本机所知";
    McpCertExpired: "its certificate has expired", "其证书已过期";
    McpCertName: "its certificate is for another name", "其证书属于另一个名称";
    McpCertOdd: "its certificate is not valid", "其证书无效";
    McpNotTls: "it answers with something else than TLS", "它的应答不是 TLS";
    McpNoLine: "no connection to {}: {}. Can it be reached from here (network, VPN, firewall)?", "无法连接 {}：{}。从这里能访问它吗（网络、VPN、防火墙）？";
    McpHungUp: "{} broke the connection off before it answered ({}): is that the address of an MCP server, and is it well?", "{} 在回答之前断开了连接（{}）：这是 MCP 服务器的地址吗？它运行正常吗？";
    McpUnknownYou: "{} does not know who you are (HTTP 401): run `ostler mcp login {}`, or give it the header that it wants (`headers` in its configuration)", "{} 不知道您是谁（HTTP 401）：请运行 `ostler mcp login {}`，或在其配置的 `headers` 中给出所需的请求头";
    McpForbidden: "{} does not let you in (HTTP 403): check its `headers`, or log in as somebody who may: `ostler mcp login {}`", "{} 拒绝访问（HTTP 403）：请检查其 `headers`，或用有权限的账户登录：`ostler mcp login {}`";
    McpNothingThere: "there is nothing at {} (HTTP 404): is the address whole? It mostly ends in /mcp", "{} 处没有内容（HTTP 404）：地址完整吗？多以 /mcp 结尾";
    McpNoPost: "{} takes no messages (HTTP 405): is the address whole? It mostly ends in /mcp; one that ends in /sse is of the old transport", "{} 不接收消息（HTTP 405）：地址完整吗？多以 /mcp 结尾；以 /sse 结尾的是旧的传输方式";
    McpTooMany: "{} has had too many requests of you (HTTP 429): try again later", "{} 收到的请求过多（HTTP 429）：请稍后再试";
    McpItsFault: "{} has a problem of its own (HTTP {}): try again later, or tell whoever runs it", "{} 自身出现问题（HTTP {}）：请稍后再试，或告知其运营者";
    McpBareStatus: "{} refuses our message (HTTP {}): is that the address of an MCP server?", "{} 拒绝了我们的消息（HTTP {}）：这是 MCP 服务器的地址吗？";
    McpStatus: "{} refuses our message (HTTP {}): is that the address of an MCP server? It says: {}", "{} 拒绝了我们的消息（HTTP {}）：这是 MCP 服务器的地址吗？它说：{}";
    McpLedAway: "{} sends us to {}, which gets nothing of yours unasked: if that is right, put it into the configuration as `url`", "{} 要把我们转到 {}，未经询问不会向它发送您的任何内容：若地址正确，请在配置中写为 `url`";
    McpLedSomewhere: "{} sends us elsewhere (HTTP {}): put the address that it has now into the configuration as `url`", "{} 要把我们转到别处（HTTP {}）：请在配置中把现在的地址写为 `url`";
    McpWrongType: "{} answers with {} instead of a message: is that the address of an MCP server? It mostly ends in /mcp", "{} 返回的是 {} 而不是消息：这是 MCP 服务器的地址吗？多以 /mcp 结尾";
    McpNoMessage: "{} answers with what is no message of MCP: is that the address of an MCP server? It mostly ends in /mcp", "{} 返回的不是 MCP 消息：这是 MCP 服务器的地址吗？多以 /mcp 结尾";
    McpOurHeader: "the header `{}` is set by us; take it out of its `headers`", "请求头 `{}` 由我们设置；请从其 `headers` 中移除";
    McpForgot: "it has forgotten the connection; connect it anew", "它已遗忘该连接；请重新连接";
    McpOddHello: "its answer to our first message is none that MCP knows: is it an MCP server, and not too old?", "它对首条消息的回答不符合 MCP：它是 MCP 服务器吗？版本是否过旧？";
    McpNotRunnable: "{}. Make it executable (chmod +x), or name its interpreter as `command`", "{}。请设为可执行（chmod +x），或把解释器写为 `command`";
    McpNoCwd: "{}. Its `cwd` must be a folder that is there", "{}。它的 `cwd` 须是存在的文件夹";
    McpDeaf: "it has closed its input, so nothing can be sent to it", "它关闭了输入，无法再向它发送内容";
    McpUnread: "it sends without reading what we answer, and was stopped", "它只发送而不读取我们的应答，已被停止";
    McpUnreadable: "its answer cannot be read as JSON: {}", "它的回答无法作为 JSON 读取：{}";
    McpTooDeep: "more than {} levels", "超过 {} 层";
    McpLateProgram: "it runs, but has not answered: does `{}` speak MCP on its stdin and stdout?", "它在运行，但没有回答：`{}` 会在标准输入输出上使用 MCP 吗？";
    McpLateAddress: "{} has not answered: is that the address of an MCP server, and is it well?", "{} 没有回答：这是 MCP 服务器的地址吗？它运行正常吗？";
    McpLateLists: "it answers, but has not said what it offers", "它有回应，但没有说明提供什么";
    McpConfiguredIn: "It is configured in {}; `ostler mcp get {}` shows how.", "配置在 {}；可用 `ostler mcp get {}` 查看。";
    McpNeeds: "it needs {}", "它需要 {}";
    PluginNamed: "the plugin {}: {}", "插件 {}：{}";
    PluginBroke: "the plugin {} ended before its answer did: {}", "插件 {} 在回答完成之前结束：{}";
    PluginNoList: "it says everything but which models it has", "它说了很多，却没有列出模型";
    PluginLate: "it did not list its models within {} s ([tools] mcp_start_seconds)", "它在 {} 秒内没有列出模型（[tools] mcp_start_seconds）";
    PluginNoInput: "it has no input", "它没有输入";
    PluginNoModel: "it lists no model", "它没有列出任何模型";
    PluginTakesNone: "it takes no request: {}", "它不接受请求：{}";
    PluginReadsNone: "it does not read its request", "它没有读取请求";
    PluginLongLine: "it sent a line of more than {} MB", "它发送了超过 {} MB 的一行";
    // Files and programs
    HostNone: "{} does not exist", "{} 不存在";
    HostFolder: "{} is a directory, not a file", "{} 是目录，不是文件";
    HostNoFolder: "{} is not a directory", "{} 不是目录";
    HostDevice: "{} is a device, socket or pipe, not a regular file", "{} 是设备、套接字或管道，不是普通文件";
    HostBadPath: "{} must be an absolute path without NUL bytes", "{} 须为不含 NUL 字节的绝对路径";
    HostPath: "cannot follow the path {}: {}", "无法沿路径 {} 前进：{}";
    HostForbidden: "permission denied for {}", "没有访问 {} 的权限";
    HostReserved: "{} is kept by Ostler itself and changed by no tool", "{} 由 Ostler 自己维护，任何工具都不能更改";
    HostOutside: "{} lies outside of the folders that may be written ({})", "{} 不在可写的文件夹内（{}）";
    HostExists: "{} already exists; ask to overwrite it, or choose another name", "{} 已存在；请要求覆盖，或另选名称";
    HostLinks: "{} has too many symlinks on its way, or they form a circle", "{} 途经的符号链接过多或成环";
    HostChanged: "{} was changed by somebody else at the same moment; try again", "{} 同时被他人修改；请重试";
    HostRead: "cannot read {}: {}", "无法读取 {}：{}";
    HostMakeFolder: "cannot make the directory {}: {}", "无法创建目录 {}：{}";
    HostWrite: "cannot write {}: {}", "无法写入 {}：{}";
    HostNoProgram: "the program {} was not found; check its name, PATH and the interpreter in its first line", "找不到程序 {}；请检查名称、PATH 以及首行的解释器";
    HostNotRun: "the program {} cannot be run: {}", "程序 {} 无法运行：{}";
    HostWorkFolder: "cannot enter the working directory {}: {}", "无法进入工作目录 {}：{}";
    HostTooLong: "the command line and its environment are too long for the system; put the text into a file", "命令行及其环境对系统来说过长；请将文本放入文件";
    HostBadCommand: "a command needs a program, and neither its words nor its environment may hold NUL bytes", "命令须有程序，且其参数与环境均不得含 NUL 字节";
    HostSpawn: "cannot start {}: {}", "无法启动 {}：{}";
    HostSandbox: "cannot put {} into the sandbox ({} failed: {}), so it was not run", "无法将 {} 放入沙箱（{} 失败：{}），因此未运行";
    HostNoWritable: "none", "无";
    BoxMissing: "the sandbox ({}) is not available here: {}; `ostler doctor` says more, `[sandbox] bash = \"off\"` goes without", "此处没有沙箱（{}）：{}；`ostler doctor` 有详情，`[sandbox] bash = \"off\"` 则不使用沙箱";
    BoxPath: "the sandbox cannot use the path {}: {}", "沙箱无法使用路径 {}：{}";
    BoxConflict: "{} is to be writable but lies in {}, which may not be read; change one of them", "{} 须可写，却位于不可读的 {} 之内；请更改其中之一";
    BoxTooMany: "the sandbox would need more than {} rules; name fewer paths in forbid_read", "沙箱需要超过 {} 条规则；请在 forbid_read 中减少路径";
    BoxNetwork: "the network of the sandbox could not be made: {}", "无法建立沙箱的网络：{}";
    BoxKernel: "the kernel refused the rules of the sandbox: {}", "内核拒绝了沙箱的规则：{}";
    BoxStepJoin: "joining the network of the session", "加入会话的网络";
    BoxStepNamespaces: "making namespaces", "创建命名空间";
    BoxStepUser: "mapping the user", "映射用户";
    BoxStepProc: "mounting /proc anew", "重新挂载 /proc";
    BoxStepMounts: "changing the mounts", "更改挂载";
    BoxStepLoopback: "starting the loopback", "启动回环网络";
    BoxStepCapabilities: "dropping capabilities", "放弃 capabilities";
    BoxStepLandlock: "putting on the Landlock rules", "应用 Landlock 规则";
    BoxStepFilter: "putting on the filter of system calls", "应用系统调用过滤器";
    BoxStepOther: "starting it", "启动";
    BoxAny: "any layer", "任一层";
    BoxLack: "{}: {}", "{}：{}";
    BoxNeither: "this system has neither Landlock nor namespaces", "此系统既没有 Landlock，也没有命名空间";
    BoxNoNamespaces: "{} failed ({}); see the settings user.max_user_namespaces, kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns", "{} 失败（{}）；请查看设置 user.max_user_namespaces、kernel.unprivileged_userns_clone 与 kernel.apparmor_restrict_unprivileged_userns";
    BoxNoLandlock: "the kernel is older than 5.13, or was started without it (boot option lsm=)", "内核早于 5.13，或启动时未启用（启动参数 lsm=）";
    BoxNoSeccomp: "the kernel was built without its filters, or this kind of machine is not known", "内核编译时没有其过滤器，或此类机器未知";
    BoxRootDisks: "root could reach the disks beside the mounts; that takes Landlock too", "root 可绕过挂载直接访问磁盘；还需要 Landlock";
    BoxOwnProcesses: "a view of its own processes only", "只看到自己的进程";
    BoxNoProc: "a fresh /proc cannot be mounted here, as in most containers", "此处无法挂载新的 /proc，多数容器都是如此";
    BoxNoBwrap: "there is no program `bwrap`", "没有程序 `bwrap`";
    BoxSays: "it says: {}", "它说：{}";
    BoxNothing: "nothing", "（无输出）";
    BoxNotRun: "{} cannot be run: {}", "{} 无法运行：{}";
    HostLost: "the watchdog that runs commands ended before {} had started; try again", "运行命令的守护进程在 {} 启动之前就结束了；请重试";
    // Goals
    HelpGoal: "work towards a goal, turn after turn, until it is reached", "朝目标持续工作，直到达成";
    ModeIsGoal: "Mode: goal. The next prompt names the goal; /mode normal leaves it.", "模式：goal。下一条提示即为目标；/mode normal 退出。";
    GoalNone: "There is no goal. Write /goal and what is to be reached.", "没有目标。请写 /goal 加上要达成的目标。";
    GoalUsage: "Write /goal [--research|--simple] and what is to be reached, or /goal clear.", "请写 /goal [--research|--simple] 加上要达成的目标，或 /goal clear。";
    GoalBegins: "The goal begins. esc stops it, /goal clear ends it.", "目标开始。esc 停止，/goal clear 结束。";
    GoalActive: "At work, turn {} of {}: {}", "进行中，第 {}/{} 回合：{}";
    GoalWaits: "Waiting, after {} of {} turns that began by themselves; your next prompt goes on with it, /goal clear ends it: {}", "已自动开始 {}/{} 个回合，正在等待；下一条提示将继续，/goal clear 结束：{}";
    GoalWhy: "In its way: {}", "阻碍：{}";
    GoalState: "Its state: {}", "状态保存于：{}";
    GoalOver: "The goal is over.", "目标已结束。";
    GoalDone: "Goal reached (turns: {}).", "目标已达成（回合：{}）。";
    GoalBlocked: "The goal is blocked and waits for you: {}", "目标受阻，等待你的处理：{}";
    GoalLimit: "The goal waits: {} turns began by themselves, which is the most. A prompt goes on with it.", "目标等待中：已自动进行 {} 个回合，达到上限。输入提示可继续。";
    GoalStopped: "The goal waits. A prompt goes on with it, /goal clear ends it.", "目标等待中。输入提示可继续，/goal clear 结束。";
    GoalDoubted: "It reports the goal as reached, but steps of its own list are open: {}. It is asked again.", "它报告目标已达成，但其清单中仍有未完成的步骤：{}。将再次询问。";
    GoalFailed: "The goal waits, because this turn failed. A prompt goes on with it.", "本回合失败，目标等待中。输入提示可继续。";
    GoalNoFolder: "The folder for this goal could not be made ({}); it is worked on without one.", "无法创建此目标的文件夹（{}）；将不使用文件夹。";
    GoalRepeats: "it said the same for the third time and changed nothing", "它第三次说了同样的话，且没有任何改动";
    GoalAsk: "This sounds like a goal: work on it turn after turn until it is reached?", "这像是一个目标：持续工作直到达成？";
    GoalYes: "as a goal, with a folder for its state", "作为目标，并用文件夹保存状态";
    GoalNo: "as an ordinary prompt", "作为普通提示";
    GoalTurn: "Goal, turn {} of {}", "目标，第 {}/{} 回合";
    GoalAt: "goal {}/{}", "目标 {}/{}";
    GoalPaused: "goal waits", "目标等待中";
    // Hooks
    HelpHooks: "the hooks that are set, and where they come from", "已设置的钩子及其来源";
    HooksNone: "No hooks are set. See [[hooks]] in docs/hooks.md.", "没有设置钩子。见 docs/hooks.md 中的 [[hooks]]。";
    ColEvent: "event", "事件";
    ColMatch: "match", "匹配";
    ColCommand: "command", "命令";
    HookFailed: "The hook `{}` ({}) failed, and the work goes on: {}", "钩子 `{}`（{}）失败，工作继续：{}";
    HookKilled: "a signal killed it", "它被信号终止";
    HookChanged: "A hook changed this {} call, which is now: {}", "钩子更改了这次 {} 调用，现在是：{}";
    HookStopped: "Stopped while a hook looked at your prompt: it was not sent, and is in the composer again.", "钩子检查提示词时被停止：提示词没有发送，已放回输入框。";
    HookIsAsync: "it is meant to run beside the work, which hooks here do not", "它要求在后台运行，而这里的钩子不这样运行";
    SkillLends: "Skill {}: for this turn these need no question: {}", "技能 {}：本轮无需询问即可使用：{}";
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
    FactBadId: "its id {} has other characters than letters, digits, `-`, `_` and `.`", "其 id {} 含有字母、数字、`-`、`_`、`.` 以外的字符";
    FactDouble: "{} has the same id; take the id line out to make it a fact of its own", "{} 的 id 相同；删去 id 行即成为单独的记忆";
    FactLink: "it is a link", "它是链接";
    FactNotFile: "it is not a file", "它不是文件";
    FactNone: "There is no fact {}. List or search them to see which there are.", "没有事实 {}。请列出或搜索以查看现有的。";
    FactAmbiguous: "{1} facts begin with {0}; give the whole id.", "有 {1} 条事实以 {0} 开头；请给出完整的 id。";
    FactStale: "Fact {} is not what you read: its revision is {} now. Read it again, and decide on what it says.", "事实 {} 已不是你读到的内容：其修订版现为 {}。请重新读取后再决定。";
    FactExists: "There is a fact \"{}\" already, {}. Read it, and revise it instead.", "已有事实“{}”：{}。请读取并修订它。";
    FactFull: "There are {} facts here, which is the most. Forget some first.", "这里已有 {} 条事实，达到上限。请先忘掉一些。";
    FactBusy: "Another process is changing what is remembered. Try again.", "另一个进程正在更改记忆。请重试。";
    FactNotRead: "{} cannot be read: {}.", "无法读取 {}：{}。";
    FactNotWritten: "{} cannot be written: {}. Nothing was changed.", "无法写入 {}：{}。未作任何更改。";
    FileNotRegular: "it is not a regular file", "它不是普通文件";
    FileOver: "it is over {} bytes", "超过 {} 字节";
    GoalFolderFull: "{} is full", "{} 已满";
    FormNeeded: "it is needed", "此项必填";
    FormNumber: "a number is wanted", "需要数字";
    FormFlag: "yes or no is wanted", "需要“是”或“否”";
    FormOne: "one of the choices is wanted", "需要其中一个选项";
    FormSome: "some of the choices are wanted", "需要其中若干选项";
    MatcherUnread: "`match = \"{}\"` cannot be read: {}", "无法读取 `match = \"{}\"`：{}";
    FoldTooLong: "it is too long for the model", "对模型来说过长";
    FoldCalled: "it called tools instead of answering", "它调用了工具而没有回答";
    FoldEmpty: "its answer was empty", "其回答为空";
    DiffMoreFiles: "… {} more file¦… {} more files", "……另有 {} 个文件";
    HandoffOffTopic: "its answer was none of what it was asked for", "其回答不是所要求的内容";
    ModelRefused: "it refused", "模型拒绝了";
    FactUnread: "it cannot be read: {}", "无法读取：{}";
    FactLeft: "{} was left out of memory: {}.", "{} 未纳入记忆：{}。";
    FactsSurplus: "{} facts in {} are left out: {} of a folder are known, by their names. Archive some (/memory archive ID), or move files away.", "{1} 中有 {0} 条事实未纳入：每个文件夹按文件名只取 {2} 条。请归档一些（/memory archive ID），或移走文件。";
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
    // The program
    ModelHeadline: "Model: {}", "模型：{}";
    SessionEnded: "the session ended", "会话已结束";
    EndedWith: "{} ended with {}", "{} 以 {} 结束";
    BootPromptFile: "system_prompt_file {} cannot be read", "无法读取 system_prompt_file {}";
    BootRuleIdle: "{}: the rule `{}` stops nothing: {}", "{}：规则 `{}` 不起作用：{}";
    BootNoToolNear: "there is no tool `{}`; did you mean `{}`?", "没有工具 `{}`；是否指 `{}`？";
    BootNoTool: "there is no tool `{}`", "没有工具 `{}`";
    BootRuleNothing: "the rule `{}` does nothing: {}", "规则 `{}` 不起作用：{}";
    BootNoCwd: "the current directory cannot be read", "无法读取当前目录";
    BootRootNoFolder: "--root {} is not a folder", "--root {} 不是文件夹";
    TargetThinks: "there are {} (how hard it thinks)", "可用：{}（思考强度）";
    TargetNoThink: "it does not think, so it has none", "它不思考，因此没有";
    TargetNoVariant: "{}/{} has no variant `{}`; {}", "{}/{} 没有变体 `{}`；{}";
    CertUnusable: "the certificate file {} cannot be used", "无法使用证书文件 {}";
    ExecStreamOnly: "--input-format stream-json takes its prompts from stdin, and no --output-schema", "--input-format stream-json 从标准输入读取提示，且不能用 --output-schema";
    ExecSystemKept: "--system-prompt has no effect here: a session keeps the prompt it began with", "--system-prompt 在此无效：会话保留其开始时的提示";
    EndedBadly: "the session ended unexpectedly; `ostler resume` goes on with what was saved", "会话意外结束；`ostler resume` 可继续已保存的内容";
    ExecSchemaAgain: "The answer does not fit the schema ({}); asking once more.", "回答不符合模式（{}）；再问一次。";
    ExecSchemaBad: "the answer does not fit the output schema: {}", "回答不符合输出模式：{}";
    ExecNoPrompt: "no prompt: give one with -p \"…\", or pipe it in", "没有提示：请用 -p \"…\" 给出，或通过管道输入";
    ExecStdinEmpty: "the prompt on stdin is empty", "标准输入的提示为空";
    ExecEmpty: "the prompt is empty", "提示为空";
    ExecNoData: "stdin is a pipe without data; left alone", "标准输入是没有数据的管道；已忽略";
    ExecNoStdin: "stdin cannot be read", "无法读取标准输入";
    ExecStdinLong: "stdin has more than {} MiB; the rest is left out", "标准输入超过 {} MiB；其余略过";
    NoTerminal: "the terminal cannot be used", "无法使用终端";
    ThemeUnknown: "`ui.theme`: there is no theme {}; there are: {}", "`ui.theme`：没有主题 {}；可用：{}";
    GoingOn: "{}\nGoing on without it.", "{}\n将不使用它继续。";
    PromptAlone: "-p goes without a command, or after `exec`", "-p 不与命令同用，或放在 `exec` 之后";
    FormatAfter: "an output format goes after this command, where it has one", "输出格式写在此命令之后（若它支持）";
    StoreBadRule: "the rule cannot be read: {}", "无法读取规则：{}";
    StoreLocked: "{} cannot be locked: {}; nothing was saved", "无法锁定 {}：{}；没有保存";
    StoreChanged: "ostler.toml has changed since it was trusted; look at it with `ostler trust`. The rule was not saved", "ostler.toml 在信任之后已更改；请用 `ostler trust` 查看。规则未保存";
    StoreBadFolder: "the name of this folder cannot be written in a rule (it has `*`, `?`, or is not UTF-8); nothing was saved", "此文件夹的名称不能写入规则（含有 `*`、`?`，或不是 UTF-8）；没有保存";
    StoreThere: "{} (it was there already)", "{}（已存在）";
    StoreEverywhere: "{} (it holds in every project)", "{}（对所有项目有效）";
    StoreOwn: "{} (your own file: a rule for commands or hosts holds in every project)", "{}（你自己的文件：命令或主机的规则对所有项目有效）";
    SandboxRequired: "`[sandbox] bash = \"require\"`, but no sandbox works here: {}. `ostler doctor` says more; `bash = \"enforce\"` starts all the same, and commands then run with all your rights", "`[sandbox] bash = \"require\"`，但这里没有可用的沙箱：{}。详见 `ostler doctor`；`bash = \"enforce\"` 仍会启动，命令以你的全部权限运行";
    SandboxConflict: "{}: see `[sandbox] forbid_read`; --no-sandbox goes without", "{}：见 `[sandbox] forbid_read`；--no-sandbox 不使用沙箱";
    SandboxNone: "No sandbox works here: commands run with all your rights ({}). `ostler doctor` says more.", "这里没有可用的沙箱：命令以你的全部权限运行（{}）。详见 `ostler doctor`。";
    NoBrace: "a `}` is missing", "缺少 `}`";
    UnsetVariable: "the variable {} is not set; write ${{}:-something}", "未设置变量 {}；请写 ${{}:-something}";
    IsEmpty: "it is empty", "为空";
    SchemaUnread: "--output-schema {} cannot be read", "无法读取 --output-schema {}";
    SchemaNoJson: "--output-schema {} is not JSON: {}", "--output-schema {} 不是 JSON：{}";
    SchemaNone: "--output-schema {} is not a JSON Schema: {}", "--output-schema {} 不是 JSON Schema：{}";
    ServerNoName: "it has no name", "没有名称";
    ServerNoCommand: "it has neither `command` nor `url`", "既没有 `command` 也没有 `url`";
    ServerSse: "`type = \"sse\"` is the transport of old; use `type = \"http\"` with the server's streamable HTTP address, which mostly ends in /mcp", "`type = \"sse\"` 是旧的传输方式；请用 `type = \"http\"` 与服务器的 streamable HTTP 地址（多以 /mcp 结尾）";
    ServerWantsKey: "it wants ${{}}, which is the key of a model provider; a project's file may not have it", "它需要 ${{}}，那是模型提供商的密钥；项目的文件不能使用";
    NoBraceIn: "a `}` is missing in `{}`", "`{}` 中缺少 `}`";
    ServerUnset: "the variable {} is not set; set it, or write ${{}:-something}", "未设置变量 {}；请设置，或写 ${{}:-something}";
    FormatNoPrompt: "an output format goes with a prompt: add -p \"…\"", "输出格式需要提示：请加 -p \"…\"";
    // Doctor
    DocMendHook: "mend the hook; one that cannot be read stops every session", "请修复该钩子；无法读取的钩子会阻止所有会话";
    TopicVersion: "version", "版本";
    TopicConfig: "config", "配置";
    TopicModel: "model", "模型";
    TopicProvider: "provider", "提供商";
    TopicOnline: "online", "在线";
    TopicTrust: "trust", "信任";
    TopicSandbox: "sandbox", "沙箱";
    TopicTerminal: "terminal", "终端";
    TopicHome: "home", "主目录";
    TopicSessions: "sessions", "会话";
    TopicLedger: "ledger", "账本";
    DocNoProblems: "No problems.\n", "没有问题。\n";
    DocVersion: "ostler {} on {} {}", "ostler {}，{} {}";
    DocNotThere: " (not there)", "（不存在）";
    DocRunSetup: "run `ostler setup`", "请运行 `ostler setup`";
    DocAnswers: "{}: answers, {}", "{}：有回答，{}";
    DocActive: "{} active", "{} 已启用";
    DocMissing: "{}\nmissing: {}", "{}\n缺少：{}";
    DocIsTerminal: "a terminal", "是终端";
    DocNoTerminal: "not a terminal", "不是终端";
    DocScreen: "{} columns, {} lines", "{} 列，{} 行";
    Doc256: "256 colours", "256 色";
    Doc16: "16 colours", "16 色";
    DocSessions: "{}, {}, in {}", "{}，{}，位于 {}";
    DocHas: "{} has {}", "{} 有 {}";
    DocRequestsIn: "{} in {}", "{}，位于 {}";
    DocMendConfig: "mend it; until then this report uses the defaults in its place, and other commands refuse to run", "请修复；在此之前本报告使用默认值，其他命令拒绝运行";
    DocMendRule: "mend the rule; a rule that cannot be read stops every session", "请修复该规则；无法读取的规则会阻止所有会话";
    DocKeyIn: "key in {}", "密钥：{}";
    DocNeedsNone: "needs no key", "无需密钥";
    DocProviderKey: "{}: key in {}", "{}：密钥在 {}";
    DocProviderNone: "{}: needs no key", "{}：无需密钥";
    DocProviderNoKey: "{}: no key ({} is not set)", "{}：没有密钥（未设置 {}）";
    DocSaveKey: "save one with `ostler setup`", "用 `ostler setup` 保存一个";
    DocNoList: "{}: answers, has no list of models", "{}：有回答，但没有模型列表";
    DocNotRunning: "{}: not running", "{}：未运行";
    DocTrustNone: "nothing in this project needs trust", "此项目没有需要信任的内容";
    DocTrusted: "this project is trusted ({} in force)", "此项目受信任（{}生效）";
    DocTrustedRun: "this project is trusted for this run only ({} in force)", "此项目仅在本次运行中受信任（{}生效）";
    DocUntrusted: "this project is untrusted: {} ignored", "此项目未受信任：{}被忽略";
    DocTrustChanged: "this project has changed since it was trusted: {} ignored", "此项目在信任之后已更改：{}被忽略";
    DocRefused: "this project is not trusted, as you decided: {} ignored", "按你的决定，此项目不受信任：{}被忽略";
    DocLookTrust: "look at it with `ostler trust`", "用 `ostler trust` 查看";
    DocSandboxOff: "off: commands run with your rights", "关闭：命令以你的权限运行";
    DocContain: "let it work in a container or a virtual machine where that matters", "如有必要，请在容器或虚拟机中运行";
    DocNoStart: "no session starts (sandbox.bash = \"require\")", "任何会话都不会启动（sandbox.bash = \"require\"）";
    DocYourRights: "commands run with your rights", "命令以你的权限运行";
    DocNoLayer: "no layer works here: {}\n{}", "这里没有可用的隔离层：{}\n{}";
    DocNetwork: "; {}", "；{}";
    DocNetOpen: "network open", "网络开放";
    DocNetGranted: "no network but hosts granted by rules", "仅可访问规则允许的主机";
    DocNetNone: "no network", "无网络";
    DocLandlock: ", with landlock {}", "，并有 landlock {}";
    DocNotOnPath: "not found on PATH", "PATH 中没有";
    DocInstallGit: "install it: models use it to look at changes", "请安装：模型用它查看改动";
    DocShellGone: "{} is not found", "找不到 {}";
    DocInstallShell: "install it, or name another one: ostler config set tools.shell.path /path/to/sh", "请安装，或指定另一个：ostler config set tools.shell.path /path/to/sh";
    DocStdin: "stdin is {}", "标准输入{}";
    DocStdout: "stdout is {}", "标准输出{}";
    DocNoColorSet: "no colours (NO_COLOR)", "无颜色（NO_COLOR）";
    DocTrueColor: "true colours", "真彩色";
    DocNoColor: "no colours", "无颜色";
    DocAllowIdle: "the allow rule `{}` never counts: `{}` in `{}` ({}) wins", "允许规则 `{}` 不起作用：`{}`（{}，{}）优先";
    DocHomeFine: "{} can be written", "{} 可写";
    DocHomeFix: "make it writable, set OSTLER_HOME to a folder that is, or run with --no-save", "请使其可写，将 OSTLER_HOME 设为可写的文件夹，或使用 --no-save";
    NoFolder: "{} is not a folder", "{} 不是文件夹";
    DocCheckRights: "check its permissions", "请检查其权限";
    DocOnlyNewest: "; only the newest {} were read", "；只读取了最新的 {} 个";
    DocDamagedOpen: "they open all the same, without the lost lines; `ostler sessions delete ID` removes one", "它们仍可打开，只缺丢失的行；`ostler sessions delete ID` 可删除";
    DocUnreadable: "cannot be read", "无法读取";
    DocCutOff: "cut off", "不完整";
    DocAlsoCut: "{}, cut off", "{}，不完整";
    DocNoRequests: "no requests yet", "还没有请求";
    DocLedgerBad: "{} of {} in {} cannot be read; `ostler usage` leaves them out", "{}（共 {}，位于 {}）无法读取；`ostler usage` 会略过";
    DocLedgerFix: "check its permissions; `ostler usage` needs it", "请检查其权限；`ostler usage` 需要它";
    // Logins of the program
    AuthRunLogin: "Run `ostler login {}`", "请运行 `ostler login {}`";
    AuthAtLine: "line {}, column {}", "第 {} 行，第 {} 列";
    AuthFor: "for {}", "用于 {}";
    AuthEnds: "ends {}", "有效至 {}";
    AuthNoOpener: "there is no program to open it with", "没有可用来打开它的程序";
    AuthNoDeviceUrl: "it has no `device_url`", "没有 `device_url`";
    AuthNoDeviceCode: "the issuer's answer has no code for another device; check `device_url`", "颁发方的回答中没有用于其他设备的代码；请检查 `device_url`";
    AuthBadPage: "the issuer names a page to open, but {}", "颁发方给出了要打开的页面，但 {}";
    AuthCodeLate: "the code was not typed in before it expired; run `ostler login` again", "代码在过期前没有输入；请重新运行 `ostler login`";
    AuthRefusedThere: "the login was refused on the other device", "登录在另一台设备上被拒绝";
    AuthTableUnusable: "`oauth` of provider `{}` cannot be used", "提供商 `{}` 的 `oauth` 无法使用";
    AuthNoClient: "{}: it has no `client_id`", "{}：没有 `client_id`";
    AuthNoTokenUrl: "{}: it has neither `issuer` nor `token_url`", "{}：既没有 `issuer` 也没有 `token_url`";
    AuthOtherDocument: "{} is the document of another issuer; check `issuer`", "{} 是另一个颁发方的文档；请检查 `issuer`";
    AuthNoAddresses: "{} publishes no addresses; set `token_url` and `authorize_url` or `device_url`", "{} 没有公布地址；请设置 `token_url` 以及 `authorize_url` 或 `device_url`";
    AuthSaidNo: "{} said no: {}", "{} 拒绝：{}";
    HttpNoClient: "the HTTP client cannot be set up: {}", "无法建立 HTTP 客户端：{}";
    HttpTooLarge: "{} answered with more than {} MiB", "{} 的回答超过 {} MiB";
    HttpLater: "{} answered {}; try again later", "{} 回答 {}；请稍后再试";
    AuthNoJson: "{} answered with something that is no JSON object; check the addresses in `oauth`", "{} 的回答不是 JSON 对象；请检查 `oauth` 中的地址";
    AuthRedirects: "{} redirects elsewhere ({}); check the addresses in `oauth`", "{} 转到别处（{}）；请检查 `oauth` 中的地址";
    AuthNoReason: "{} answered {} without saying why; check the addresses in `oauth`", "{} 回答 {}，未说明原因；请检查 `oauth` 中的地址";
    HttpNoTime: "{} did not answer in time", "{} 未及时回答";
    HttpNoAnswer: "no answer from {}: {}", "{} 没有回答：{}";
    AuthCloseTab: "You can close this tab and go back to the terminal.", "可以关闭此标签页并回到终端。";
    AuthNothingHere: "There is nothing here.", "这里什么也没有。";
    AuthNoPort: "no port of this machine can be listened on", "无法监听本机的任何端口";
    AuthNoAuthorizeUrl: "it has no `authorize_url`", "没有 `authorize_url`";
    AuthOtherState: "the answer does not belong to this login (its `state` differs), so it was not used; run `ostler login` again", "该回答不属于这次登录（`state` 不同），未使用；请重新运行 `ostler login`";
    AuthRefused: "the login was refused in the browser", "登录在浏览器中被拒绝";
    AuthFailed: "the login failed: {}", "登录失败：{}";
    AuthFailedWith: "the login failed: {} ({})", "登录失败：{}（{}）";
    AuthOtherIssuer: "the answer came from another issuer, so it was not used", "该回答来自另一个颁发方，未使用";
    AuthNoCode: "the answer has no code in it; run `ostler login` again", "回答中没有代码；请重新运行 `ostler login`";
    AuthNotAddress: "this is not the address that the browser ended at", "这不是浏览器最终停留的地址";
    AuthNotRenewed: "the login could not be renewed: {}", "无法续期登录：{}";
    AuthGone: "is gone", "已不存在";
    AuthExpired: "has expired", "已过期";
    AuthNotAccepted: "is no longer accepted", "不再被接受";
    AuthCannotRenew: "cannot be renewed: {}", "无法续期：{}";
    AuthLoginNotRenewed: "the login of {} cannot be renewed: {}", "{} 的登录无法续期：{}";
    AuthLoginAgain: "the login of {} {}. Run `ostler login {}`", "{} 的登录{}。请运行 `ostler login {}`";
    CannotRead: "{} cannot be read: {}", "无法读取 {}：{}";
    AuthFileDamaged: "{} is damaged at line {}; mend it or move it away", "{} 的第 {} 行已损坏；请修复或移走它";
    CannotWrite: "{} cannot be written: {}", "无法写入 {}：{}";
    KeepsLocked: "another process keeps {} locked", "另一个进程锁定了 {}";
    UnknownDay: "an unknown day", "未知日期";
    LoginOf: "login of {}", "{} 的登录";
    AuthStoreDamaged: "{} is damaged ({}); it is left as it is. Mend it, or move it away and run `ostler login` again", "{} 已损坏（{}）；保持原样。请修复，或移走后重新运行 `ostler login`";
    AuthHeld: "another process has held {} for {} s; end it and try again", "另一个进程已占用 {} {} 秒；请结束它后再试";
    AuthNoKeyring: "this build of ostler has no keyring; set `store = \"file\"` in [auth] of your config file", "此版本的 ostler 没有密钥环；请在配置文件的 [auth] 中设置 `store = \"file\"`";
    AuthOpenFile: "{}: can be read by others (mode {}); run: chmod 600 {}", "{}：他人可读（权限 {}）；请运行：chmod 600 {}";
    AuthNotTokens: "it is not a file with tokens in it", "不是保存令牌的文件";
    AuthNotLogin: "an entry is not a login", "有一项不是登录";
    AuthNoToken: "the issuer's answer has no access token", "颁发方的回答中没有访问令牌";
    AuthBadToken: "the issuer's token has characters that cannot be sent, or too many", "颁发方的令牌含有无法发送的字符，或过长";
    AuthNotBearer: "the issuer's token is not a bearer token, which is all ostler can send", "颁发方的令牌不是 bearer 令牌，而 ostler 只能发送这种";
    StoppedUnchanged: "Stopped; nothing was changed.", "已停止；没有任何更改。";
    AuthNotIn: "{}: not logged in; run `ostler login {}`\n", "{}：未登录；请运行 `ostler login {}`\n";
    AuthNoneAtAll: "There is no login, and no provider in the configuration has an `oauth` table.\n", "没有登录，配置中也没有带 `oauth` 表的提供商。\n";
    AuthRenews: "renews itself", "自动续期";
    AuthNoEnd: "no end known", "有效期未知";
    AuthIsExpired: "expired; run `ostler login {}`", "已过期；请运行 `ostler login {}`";
    AuthNoSuch: "no such provider in the configuration", "配置中没有此提供商";
    AuthNotUsed: "not in use: the key in {} comes first", "未使用：{} 中的密钥优先";
    AuthNoTable: "provider `{}` has no login: its configuration has no `oauth` table. If it takes a key, run `ostler setup --use {}`", "提供商 `{}` 没有登录：其配置没有 `oauth` 表。若它使用密钥，请运行 `ostler setup --use {}`";
    AuthByProject: "provider `{}` is changed by this project's ostler.toml; log in from another folder, or put it into your own config file", "提供商 `{}` 被此项目的 ostler.toml 更改；请在其他文件夹登录，或写入你自己的配置文件";
    AuthNoPlace: "provider `{}` has no address", "提供商 `{}` 没有地址";
    AuthNoLoginTo: "no login to {}", "无法登录 {}";
    NoProvider: "no provider is called `{}`", "没有名为 `{}` 的提供商";
    AuthNoProvider: "no provider is called `{}`; a login have {}", "没有名为 `{}` 的提供商；可登录的有 {}";
    AuthNoProviders: "no provider in the configuration has a login; `[providers.oauth]` says how", "配置中没有可登录的提供商；见 `[providers.oauth]`";
    AuthWhich: "which one? these have a login: {}", "哪一个？可登录的有：{}";
    AuthNoDevice: "the issuer offers no login with another device (`oauth` has no `device_url`)", "颁发方不支持用其他设备登录（`oauth` 没有 `device_url`）";
    AuthNoWeb: "the issuer offers no login with a browser (`oauth` has no `authorize_url`)", "颁发方不支持用浏览器登录（`oauth` 没有 `authorize_url`）";
    AuthNeither: "`oauth` has neither `authorize_url` nor `device_url`", "`oauth` 既没有 `authorize_url` 也没有 `device_url`";
    AuthBrowserLate: "the browser did not come back within {} minutes; run `ostler login` again", "浏览器在 {} 分钟内没有返回；请重新运行 `ostler login`";
    // Configuration
    CfgRecallOn: "on: facts that a prompt is about go with it\n", "开：与提示有关的记忆随之发送\n";
    CfgRecallOff: "off: facts are found only where they are looked for\n", "关：记忆只在查找时使用\n";
    HookNoCommand: "{}: this hook has no `command`", "{}：此钩子没有 `command`";
    HooksLeft: "its hooks are left out: {}", "其钩子已略过：{}";
    HookUnknown: "a hook for `{}` is left out: this version has no such hooks", "事件 `{}` 的钩子已略过：此版本没有这种钩子";
    HookLeft: "a hook for `{}` is left out: {}", "事件 `{}` 的钩子已略过：{}";
    KeyInVariable: "variable {}", "变量 {}";
    KeyInPath: "file {}", "文件 {}";
    CfgDirectory: "a directory", "目录";
    CfgExpected: "expected {}", "应为{}";
    CfgString: "a string", "字符串";
    CfgList: "a list", "列表";
    CfgTable: "a table", "表";
    CfgAnyNumber: "a number", "数";
    CfgBool: "true or false", "true 或 false";
    CfgWhole: "a whole number", "整数";
    CfgWholePositive: "a whole number, 0 or greater", "不小于 0 的整数";
    CfgWholeTo: "a whole number from 0 to {}", "0 到 {} 的整数";
    CfgProvider: "provider `{}`{}: {}", "提供商 `{}`{}：{}";
    CfgDate: "a date", "日期";
    ServerNeedsCommand: "`type = \"stdio\"` needs a `command`", "`type = \"stdio\"` 需要 `command`";
    ServerSecretAlone: "`oauth.client_secret` needs the `oauth.client_id` that it belongs to", "`oauth.client_secret` 需要与之对应的 `oauth.client_id`";
    ServerNeedsUrl: "`type = \"http\"` needs a `url`", "`type = \"http\"` 需要 `url`";
    CfgMoney: "write USD like 2.5, or tokens like 500000tokens or 500ktokens", "请写美元如 2.5，或令牌如 500000tokens、500ktokens";
    DidYouMean: "did you mean `{}`?", "是否指 `{}`？";
    CfgNoRole: "`budget.roles`: there is no role `{}`; {}", "`budget.roles`：没有角色 `{}`；{}";
    IsIgnored: "it is ignored", "已忽略";
    CfgUnknownKey: "unknown key `{}`; {}", "未知的键 `{}`；{}";
    CfgFallbacks: "`{}` is not supported: a role has one model", "不支持 `{}`：一个角色只有一个模型";
    CfgNotHere: "take this out", "请删除";
    CfgOneModel: "name the model in `model`; a role whose model cannot be used says so when it is called", "请在 `model` 中指定模型；若模型不可用，调用该角色时会说明";
    CfgTwoNamed: "two providers are named `{}`", "有两个提供商名为 `{}`";
    CfgUsedBefore: "used before in this file", "此文件中已使用";
    CfgOwnName: "give each its own name, or put the models of both into one entry", "请各起不同的名称，或将两者的模型写入同一项";
    CfgModelOrModels: "`model` and `models` cannot both be given", "`model` 与 `models` 不能同时给出";
    CfgOneOfTwo: "one of the two", "二者之一";
    CfgKeepModels: "keep `models`, and say `default = …` for the one to use first", "保留 `models`，并用 `default = …` 指定首选";
    CfgBadName: "a provider's name may have no `/`, `@` or space in it", "提供商的名称不能含有 `/`、`@` 或空格";
    CfgNoName: "not a usable name", "不能用作名称";
    CfgTwoKeys: "`models.{}` has more than one key", "`models.{}` 有多个密钥";
    CfgSecond: "a second one", "第二个";
    CfgKeepOne: "keep one of `api_key_env`, `api_key_file`, `api_key`", "请保留 `api_key_env`、`api_key_file`、`api_key` 之一";
    CfgNameTaken: "`models.{}` has the name of a provider in the same file", "`models.{}` 与同一文件中的提供商重名";
    CfgAlsoUsed: "used by [[providers]] too", "[[providers]] 也使用了它";
    CfgRename: "give one of them another name", "请为其中之一改名";
    CfgNoAddress: "not an address", "不是地址";
    CfgWriteAddress: "write it like \"https://host/v1\" or \"http://127.0.0.1:8080/v1\"", "请写如 \"https://host/v1\" 或 \"http://127.0.0.1:8080/v1\"";
    CfgNoToken: "no token may go there", "令牌不能发往那里";
    CfgBadBase: "this base URL is not valid: {}", "此基础地址无效：{}";
    CfgBaseForm: "a base URL must start with http:// or https:// and name a host", "基础地址必须以 http:// 或 https:// 开头并写明主机";
    CfgUnsendable: "cannot be sent", "无法发送";
    CfgNoHeader: "this is not the name of an HTTP header", "这不是 HTTP 请求头的名称";
    CfgHeaderValue: "a header value may have no line breaks or control characters", "请求头的值不能含有换行或控制字符";
    CfgMustNow: "must be {}; it is {}", "必须是{}；现在是 {}";
    CfgMustNot: "must be {}, not {}", "必须是{}，而不是{}";
    CfgNearText: "did you mean \"{}\"?", "是否指 \"{}\"？";
    CfgOneOf: "must be one of {}", "必须是 {} 之一";
    CfgNoneOf: "not one of these", "不在其中";
    CfgHasNo: "has no `{}`", "没有 `{}`";
    CfgMissing: "`{}` is missing here", "此处缺少 `{}`";
    CfgAddField: "add `{} = …` to this table", "请在此表中添加 `{} = …`";
    CfgUnquote: "write {} without the quotes", "请写 {}，不加引号";
    CfgBrackets: "put it in brackets: [\"…\"]", "请放入方括号：[\"…\"]";
    CfgQuote: "put it in quotes: \"{}\"", "请放入引号：\"{}\"";
    CfgMoreErrors: "and {} more errors", "另有 {} 个错误";
    CfgNoUtf8: "this file is not UTF-8 text", "此文件不是 UTF-8 文本";
    CfgSaveUtf8: "save it as UTF-8 and try again", "请存为 UTF-8 后重试";
    CfgEditIt: "edit it, or use `ostler config set KEY VALUE`", "请编辑它，或用 `ostler config set KEY VALUE`";
    CfgExists: "this configuration file exists already; it was left alone", "此配置文件已存在；未作更改";
    CfgNotWritten: "this configuration file cannot be written: {}", "无法写入此配置文件：{}";
    CfgCheckFolder: "check the permissions of its directory; nothing was changed", "请检查其目录的权限；没有任何更改";
    CfgNeedsKey: "a key is needed, like `agent.max_steps`", "需要一个键，如 `agent.max_steps`";
    CfgRenameInFile: "a provider's name is part of its key; rename it in the file", "提供商的名称是键的一部分；请在文件中改名";
    CfgNoTable: "`{}` is not a table, so nothing can be set below it", "`{}` 不是表，不能在其下设置";
    CfgNotAdded: "the provider could not be added", "无法添加提供商";
    CfgOneList: "`{}` is written as one list; add `{}` to it by hand", "`{}` 写成了一个列表；请手动添加 `{}`";
    CfgNoTableList: "`{}` is not a list of tables", "`{}` 不是表的列表";
    CfgEnvIgnored: "is ignored: it names no key", "已忽略：没有指明键";
    CfgEnvNoKey: "`{}` names no key", "`{}` 没有指明键";
    CfgEnvBadKey: "`{}` is not a key like `agent.max_steps`", "`{}` 不是如 `agent.max_steps` 的键";
    CfgLocked: "another process keeps it locked", "另一个进程锁定了它";
    KeyNone: "no key for `{}`; looked at: {}", "没有 `{}` 的密钥；已查找：{}";
    KeyFile: "the key file of `{}` cannot be used: {}: {}", "无法使用 `{}` 的密钥文件：{}：{}";
    KeyUnsendable: "the key of `{}` from {} has characters that cannot be sent; copy it again without line breaks", "`{}` 的密钥（来自 {}）含有无法发送的字符；请不带换行重新复制";
    KeyEnvOff: "variable {} (turned off by [auth] use_process_env = false)", "变量 {}（已被 [auth] use_process_env = false 关闭）";
    KeyInFile: "api_key in the config file", "配置文件中的 api_key";
    KeyMove: "the key of `{}` stands in a config file; `ostler setup` moves keys to {}", "`{}` 的密钥写在配置文件中；`ostler setup` 会将密钥移到 {}";
    KeyNoFile: "it is not a small file with a key in it", "不是保存密钥的小文件";
    KeyUnread: "cannot be read: {}", "无法读取：{}";
    KeyOpen: "can be read by others (mode {}); run: chmod 600 {}", "他人可读（权限 {}）；请运行：chmod 600 {}";
    KeyBadLine: "{}:{}: this line is not NAME=value; it is ignored", "{}:{}：此行不是 NAME=value，已忽略";
    KeyBadName: "`{}` cannot be the name of a variable; use letters, digits and `_`", "`{}` 不能用作变量名；请使用字母、数字和 `_`";
    KeyOneLine: "a key is one line of visible characters", "密钥是一行可见字符";
    CfgFileGone: "this configuration file does not exist", "此配置文件不存在";
    CfgCheckPath: "check the path given with --config", "请检查 --config 给出的路径";
    CfgNoFit: "the configuration does not fit together: {}", "配置相互矛盾：{}";
    CfgNoToml: "this file is not valid TOML", "此文件不是有效的 TOML";
    CfgUnread: "this configuration file cannot be read: {}", "无法读取此配置文件：{}";
    CfgCheckFile: "check the permissions of the file and its directory", "请检查文件及其目录的权限";
    CfgIrregular: "not a regular file", "不是普通文件";
    CfgShouldFile: "this should be a configuration file, but it is {}", "这里应为配置文件，却是{}";
    CfgMoveAway: "move it away, or name another file with --config", "请移走它，或用 --config 指定其他文件";
    CfgTooLarge: "this configuration file has {} bytes; {} are the most", "此配置文件有 {} 字节；最多 {}";
    CfgMoveText: "move large texts into files of their own, like system_prompt_file", "请将长文本移到单独的文件，如 system_prompt_file";
    CfgCheckRights: "check the permissions of the file", "请检查文件的权限";
    CfgNotYet: "not used by this version yet: {}", "此版本尚未使用：{}";
    CfgOldIgnored: "`{}` is ignored: `{}` says the same and is newer", "`{}` 已忽略：`{}` 含义相同且较新";
    CfgOldName: "`{}` is an older name; write `{}`", "`{}` 是旧名称；请写 `{}`";
    CfgBadUrl: "this address is not valid: {}", "此地址无效：{}";
    CfgLoginHttps: "a login needs https://, except for a server on this machine", "登录需要 https://，本机的服务器除外";
    CfgUrlForm: "an address must start with https:// and name a host", "地址必须以 https:// 开头并写明主机";
    NoHome: "no home directory: neither OSTLER_HOME nor {} is set; set OSTLER_HOME to a directory for Ostler's files", "没有主目录：OSTLER_HOME 与 {} 均未设置；请将 OSTLER_HOME 设为存放 Ostler 文件的目录";
    PlugNoList: "no list of servers: {}", "不是服务器列表：{}";
    PlugLeft: "the server `{}` is left out: {}", "服务器 `{}` 已略过：{}";
    CfgUserOnly: "`{}` is ignored in a project file; only your own config file may set it", "`{}` 在项目文件中被忽略；只有你自己的配置文件可以设置";
    PlugNoServers: "not a list of servers", "不是服务器列表";
    ProvNoKind: "it has no `kind`; say which wire protocol it speaks", "没有 `kind`；请写明它使用的协议";
    ProvApiKind: "`api` does not go with kind \"{}\"", "`api` 与 kind \"{}\" 不符";
    ProvApi: "api \"{}\" is not known", "未知的 api \"{}\"";
    ProvNoBase: "it has no `base_url`; say where its requests go", "没有 `base_url`；请写明请求发往何处";
    ModelNone: "no model is configured and no provider key was found{}\nrun `ostler setup`, or set one of {}\nor see it work without an account: `ostler demo`", "没有配置模型，也没有找到提供商的密钥{}\n请运行 `ostler setup`，或设置 {} 之一\n或无需账号先看效果：`ostler demo`";
    ModelNoKey: "{}\nset one of these, or save the key with `ostler setup`", "{}\n请设置其中之一，或用 `ostler setup` 保存密钥";
    ModelRedirected: "provider `{}`{}: the key from {} belongs to {}, but the project sends it to {}; refused\nname another key for it, or put this provider into your own config file", "提供商 `{}`{}：来自 {} 的密钥属于 {}，但项目将它发往 {}；已拒绝\n请为它指定其他密钥，或将此提供商写入你自己的配置文件";
    ModelUnknown: "no provider or model is called `{}`{}\nproviders: {}; any of their models can be named as provider/model", "没有名为 `{}` 的提供商或模型{}\n提供商：{}；可用 provider/model 指定其任一模型";
    ModelPickKey: "no default_model is set; {} has a key in {}", "未设置 default_model；{} 的密钥在 {}";
    ModelPickLogin: "no default_model is set; {} has a {}", "未设置 default_model；{} 有{}";
    ModelPickPlain: "no default_model is set; {} is configured", "未设置 default_model；{} 已配置";
    ModelNeedsName: " ({} is set, but needs a model: use --model)", "（{} 已设置，但需要模型：请用 --model）";
    ModelNoList: "it has no model; add `models = […]`", "没有模型；请添加 `models = […]`";
    ItsHeaders: "its headers", "其请求头";
    OwnProviders: "providers of your own", "你自己的提供商";
    ProvNoKindNear: "there is no kind \"{}\"; did you mean \"{}\"?", "没有类型 \"{}\"；是否指 \"{}\"？";
    ProvNoKindOf: "there is no kind \"{}\"; there are {}", "没有类型 \"{}\"；可用：{}";
    ModelNoLogin: "no key and no login for `{}`\nrun `ostler login {}`", "`{}` 没有密钥，也没有登录\n请运行 `ostler login {}`";
    ModelLoginElsewhere: "the login of `{}` is for {}, but its requests go to {}; it is not sent there\n{}", "`{}` 的登录属于 {}，但其请求发往 {}；不会发送到那里\n{}";
    ModelNoOauth: "provider `{}` wants a login (`auth = \"login\"`), but has no `oauth`\nsay in `[providers.oauth]` where its tokens come from", "提供商 `{}` 需要登录（`auth = \"login\"`），但没有 `oauth`\n请在 `[providers.oauth]` 中写明令牌的来源";
    ModelByProject: "this project's ostler.toml has changed the address", "此项目的 ostler.toml 更改了地址";
    ModelLoginFor: "run `ostler login {}` to log in for {}", "请运行 `ostler login {}` 登录 {}";
    CfgNoKey: "there is no key `{}`{}", "没有键 `{}`{}";
    CfgNotSet: "`{}` is not set and has no default", "`{}` 未设置，也没有默认值";
    CfgBigNumber: "this number does not fit in 64 bits", "此数字超出 64 位";
    TrustSettingsIgnored: "so these settings are ignored", "因此忽略这些设置";
    TrustRunOnly: "this project is trusted for this run only (--trust-workspace): {}", "此项目仅在本次运行中受信任（--trust-workspace）：{}";
    TrustNotYet: "this project is not trusted, {}: {}; `ostler trust` shows them and asks", "此项目未受信任，{}：{}；`ostler trust` 显示它们并询问";
    TrustHasChanged: "this project has changed since you trusted it, {}: {}; `ostler trust` shows what is new and asks", "此项目在你信任之后已更改，{}：{}；`ostler trust` 显示新内容并询问";
    TrustAsDecided: "this project is not trusted, as you decided, {}: {}; `ostler trust` asks again", "按你的决定，此项目不受信任，{}：{}；`ostler trust` 会再次询问";
    TrustNoUtf8: "the name of this folder is not UTF-8, so it cannot be remembered as trusted", "此文件夹的名称不是 UTF-8，无法记住对它的信任";
    TrustTooMany: "this project has {} items that need trust, more than the {} that anybody would read; it stays untrusted", "此项目有 {} 项需要信任，超过任何人会读的 {} 项；保持不受信任";
    TrustTooLarge: "{} would be too large; forget old projects with `ostler trust --remove PATH`", "{} 将过大；请用 `ostler trust --remove PATH` 忘记旧项目";
    TrustBookBad: "{}: {}; no project is trusted until you run `ostler trust` there", "{}：{}；在那里运行 `ostler trust` 之前，任何项目都不受信任";
    TrustOther: "written by another version of Ostler", "由其他版本的 Ostler 写入";
    AboutCommit: "Commit the changes, in the style of the project's history", "提交更改，沿用项目历史的风格";
    AboutExplain: "Find out how something in the code works, with file and line", "弄清代码中某处如何工作，注明文件与行";
    AboutInit: "Look at the project and write its AGENTS.md", "查看项目并编写其 AGENTS.md";
    AboutReview: "Review the changes", "审查更改";
    AboutSecurity: "Review the changes for ways to attack them", "从攻击角度审查更改";
    AboutBuilder: "Builds or changes something and verifies it. The default of task", "构建或更改内容并验证。task 的默认角色";
    AboutCritic: "Finds what is wrong with a plan or a design", "找出计划或设计中的问题";
    AboutExplore: "Finds and reads code and reports places. The default of read_only_task", "查找并阅读代码，报告位置。read_only_task 的默认角色";
    AboutOracle: "Thinks hard questions of architecture and trade-offs through", "深入思考架构与取舍的难题";
    AboutPlanner: "Plans work for another model", "为另一个模型制定计划";
    AboutResearcher: "Looks things up in the code and on the web, with sources", "在代码与网络中查找资料，注明来源";
    AboutReviewer: "Reviews changes for faults", "审查更改中的错误";
    AboutSprinter: "Makes small, clear changes fast", "快速完成小而明确的更改";
    KindAuth: "auth", "密钥问题";
    KindRetryable: "retryable", "暂时失败";
    KindOverflow: "overflow", "超出窗口";
    KindLoginRequired: "login_required", "需要登录";
    KindInvalidResponse: "invalid_response", "回答无效";
    KindFatal: "fatal", "失败";
    KindBudget: "budget", "预算";
    KindMaxSteps: "max_steps", "步数上限";
    KindHook: "hook", "钩子";
    FullStop: "{}.", "{}。";
    BootNoRoot: "--root {}: {}", "--root {}：{}";
    CfgLevelError: "error", "错误";
    CfgLevelHelp: "help", "提示";
    FlagUnknown: "there is no argument `{}`", "没有参数 `{}`";
    FlagNoCommand: "there is no command `{}`", "没有命令 `{}`";
    FlagNoValue: "`{}` wants a value", "`{}` 需要一个值";
    FlagBadValue: "`{}` is no value for `{}`", "`{}` 不是 `{}` 的有效值";
    FlagMissing: "`{}` is missing", "缺少 `{}`";
    FlagWantsCommand: "a command is missing", "缺少命令";
    FlagConflict: "`{}` and `{}` exclude each other", "`{}` 与 `{}` 不能同时使用";
    FlagCount: "`{}` has too few or too many values", "`{}` 的值过少或过多";
    FlagNotText: "an argument is not UTF-8", "有参数不是有效的 UTF-8";
    FlagMeant: "; did you mean `{}`?", "；是否想用 `{}`？";
    FlagValues: "; there are: {}", "；可选：{}";
    FlagUsage: "\nUsage: {}", "\n用法：{}";
    FlagHelp: "\nFor more, try --help.", "\n更多信息请用 --help。";
    Because: "{}: {}", "{}：{}";
    TrustGarbled: "damaged ({})", "已损坏（{}）";
    TrustUnread: "cannot be read ({})", "无法读取（{}）";
    TrustNoSmall: "not a small file", "不是小文件";
    TrustManyDamaged: "too many damaged files beside it", "旁边的损坏文件过多";
    CfgShare: "a number from 0.1 to 1", "0.1 到 1 的数";
    CfgNumber: "a number, 0 or greater", "不小于 0 的数";
    CfgSize: "a size like \"2GB\" or \"500MiB\", or a number of bytes", "大小如 \"2GB\" 或 \"500MiB\"，或字节数";
    CfgColor: "\"auto\", \"always\", \"never\", true or false", "\"auto\"、\"always\"、\"never\"、true 或 false";
    // Utilities: sessions
    SesUnreadable: "(unreadable)", "（无法读取）";
    SesGone: "Deleted {}  {}\n", "已删除 {}  {}\n";
    SesDid: "Deleted", "已删除";
    SesNoneHere: "No sessions of this project yet. `ostler sessions list --all` shows those of every project.", "此项目还没有会话。`ostler sessions list --all` 列出所有项目的会话。";
    SesNone: "No sessions yet. Start one with `ostler`, or watch `ostler demo`.", "还没有会话。用 `ostler` 开始一个，或看 `ostler demo`。";
    SesNoMessage: "No message has all of: {}", "没有消息同时包含：{}";
    SesOnlyFirst: "Only the first {} are shown; more words find fewer.", "只显示前 {} 条；多写几个词可缩小范围。";
    SesOpen: "Session {} is open in another process. Close it there first.", "会话 {} 在另一个进程中打开。请先在那里关闭。";
    SesNoQuota: "The quota is 0, which keeps everything.", "配额为 0，即全部保留。";
    SesWould: "Would delete", "将删除";
    SesNothing: "Nothing to delete: the quota is {}.\n", "无需删除：配额为 {}。\n";
    SesDeleted: "{} {}, {}, to keep {}.\n", "{} {}，{}，以保持 {}。\n";
    SesPrefixes: "{} {} that no session needs, {}.\n", "{} {}（没有会话需要），{}。\n";
    // Utilities: permissions
    PermByRule: "  rule    {} ({})", "  规则    {}（{}）";
    PermEffect: "  effect  {}", "  效果    {}";
    PermRemoved: "Removed {} from {} in {} ({})\n", "已从 {1}（{2}，{3}）移除 {0}\n";
    ListOr: " or ", "或";
    PermFailed: ", failed", "，失败";
    PermBy: " by", " 按";
    PermWasSaved: ", saved", "，已保存";
    PermAllowedBy: "  allowed by  {}", "  由此规则允许  {}";
    PermHow: "write them like '{\"path\": \"src/main.rs\"}'", "请写如 '{\"path\": \"src/main.rs\"}'";
    PermNoObject: "the arguments are not a JSON object; {}", "参数不是 JSON 对象；{}";
    PermNoJson: "the arguments are not JSON ({}); {}", "参数不是 JSON（{}）；{}";
    PermNoRules: "No rules. Readers are allowed; for the rest `permissions.mode` decides.", "没有规则。读取均允许；其余由 `permissions.mode` 决定。";
    PermUnread: "cannot be read: {}", "无法读取：{}";
    PermIdle: "matches nothing: {}", "不匹配任何内容：{}";
    PermDenied: "never holds: deny {} covers it", "永不生效：deny {} 已覆盖";
    PermAsked: "never holds: ask {} covers it", "永不生效：ask {} 已覆盖";
    PermSame: "says no more than {} in {}", "与 {}（{}）重复";
    PermNoFile: "The rule {} stands in no file but in {}; change it there.", "规则 {} 不在文件中，而在 {}；请在那里更改。";
    PermDidYouMean: "Did you mean `{}`?", "是否指 `{}`？";
    PermListShows: "`ostler permissions list` shows those there are.", "`ostler permissions list` 列出现有规则。";
    PermNoRule: "There is no rule `{}` in {}. {}", "{1} 中没有规则 `{0}`。{2}";
    PermBadSince: "--since {} is no time; write it like 12h, 30d or 4w", "--since {} 不是时间；请写如 12h、30d 或 4w";
    PermNothingByHand: "Nothing was allowed by hand that a rule could allow.", "没有手动批准过可由规则允许的调用。";
    PermNoRuleFor: "No rule would allow just what {} allowed.", "没有规则恰好允许{}所允许的内容。";
    PermSaved: "Saved {} in {}. `ostler permissions remove RULE` takes one back.", "已在 {1} 保存 {0}。`ostler permissions remove RULE` 可撤回。";
    PermOnlyFirst: "Only the first {} calls are shown.", "只显示前 {} 次调用。";
    PermNoCalls: "This session called no tool.", "此会话没有调用工具。";
    PermDidNotRun: ", did not run", "，未运行";
    PermNoResult: ", no result", "，没有结果";
    PermAndMore: "       and {} more; --format json has all\n", "       另有 {} 个；--format json 列出全部\n";
    PermMaybeMore: "       maybe more: its words do not tell everything\n", "       可能还有：命令本身没有说明全部\n";
    // Utilities: trust
    TrustType: "Type t, n or v.", "请输入 t、n 或 v。";
    TrustYesNo: "Trust it? [y/N] ", "信任它吗？[y/N] ";
    WasInstead: "{}   (was {})", "{}   （原为 {}）";
    AnswerTrusted: "trusted", "信任";
    AnswerRefused: "refused", "拒绝";
    TrustKeys: "[t]rust it, [n]ot now, ne[v]er for this content: ", "[t] 信任，[n] 暂不，[v] 对此内容永不：";
    TrustNothing: "Nothing in this project needs trust.\n", "此项目没有需要信任的内容。\n";
    TrustNobody: "nobody is there to ask; say yes with `ostler trust --yes`", "无人可以询问；请用 `ostler trust --yes` 确认";
    Unchanged: "Nothing was changed.", "没有任何更改。";
    TrustDone: "Trusted. A change to any of this asks again.\n", "已信任。其中任何更改都会再次询问。\n";
    TrustBroken: "with this project trusted nothing would start; mend it first", "信任此项目后将无法启动；请先修复";
    TrustDamaged: "{} was damaged; it is kept as {}", "{} 已损坏；已保留为 {}";
    TrustIs: "{} is trusted, with {} in force:", "{} 受信任，{}生效：";
    TrustIsRun: "{} is trusted for this run only. With trust, this holds:", "{} 仅在本次运行中受信任。信任后以下内容生效：";
    TrustIsNot: "{} is not trusted. With trust, this takes effect:", "{} 未受信任。信任后以下内容生效：";
    TrustIsRefused: "{} was refused. With trust, this takes effect:", "{} 已被拒绝。信任后以下内容生效：";
    TrustIsChanged: "{} has changed since you trusted it. With trust, this takes effect:", "{} 在你信任之后已更改。信任后以下内容生效：";
    TrustNoProject: "No project was decided about.\n", "尚未对任何项目作出决定。\n";
    TrustNotListed: "{} is not in the list; `ostler trust --list` shows it", "{} 不在列表中；见 `ostler trust --list`";
    TrustGone: "{} is not trusted any more.\n", "{} 不再受信任。\n";
    // Utilities: checkpoint
    CpRefused: "no checkpoints of {}: {}. Start Ostler in the folder of a project to have them.", "{} 没有检查点：{}。请在项目的文件夹中启动 Ostler。";
    CpIsRoot: "it is the root of the file system", "它是文件系统的根目录";
    CpIsHome: "it is your home folder", "它是你的主目录";
    CpHoldsHome: "your home folder lies in it", "你的主目录位于其中";
    CpBusy: "another session works on the checkpoints of this project; try again when it is done", "另一个会话正在使用此项目的检查点；请待其完成后重试";
    CpStopped: "no checkpoint: {}. What changes now cannot be rewound.", "没有检查点：{}。此后的更改无法回退。";
    CpWhyFiles: "the tree has too many files", "目录树中的文件过多";
    CpWhyTime: "saving the tree took too long; the next checkpoint goes on from there", "保存目录树耗时过长；下一个检查点会继续";
    CpWhyQuota: "the tree does not fit the quota for checkpoints", "目录树超出检查点的配额";
    CpWhyLeftOut: "too many files of the tree cannot be read", "目录树中太多文件无法读取";
    CpFull: "no checkpoint: the disk is full ({}). Older checkpoints are intact; `ostler checkpoint gc` makes room.", "没有检查点：磁盘已满（{}）。较早的检查点完好；可用 `ostler checkpoint gc` 腾出空间。";
    CpNoSuch: "there is no checkpoint {}. `ostler checkpoint list` shows them.", "没有检查点 {}。可用 `ostler checkpoint list` 列出。";
    CpDamaged: "{} is damaged in the store; nothing was changed because of it. Other checkpoints may be whole.", "存储中的 {} 已损坏；因此未作任何更改。其他检查点可能完好。";
    CpUnseen: "nothing was restored: these changed since checkpoint {}, where they were last seen: {}", "未恢复任何内容：以下路径自检查点 {}（最后一次所见）之后有更改：{}";
    CpAndMore: "{} and {} more", "{} 等，另有 {} 个";
    CpRemove: "cannot remove {}: {}", "无法移除 {}：{}";
    CpFind: "cannot find {}: {}", "找不到 {}：{}";
    CpOpen: "cannot open {}: {}", "无法打开 {}：{}";
    CpLock: "cannot lock {}: {}", "无法锁定 {}：{}";
    CpElse: "something else is there that was not saved", "那里有未保存过的其他内容";
    CpChangedNow: "it changed just now", "它刚刚被更改";
    CpChangedSince: "it changed since it was last seen", "自最后一次所见以来已更改";
    CpMade: "Checkpoint {}: {}.\n", "检查点 {}：{}。\n";
    CpInAll: "{} in all.\n", "共 {}。\n";
    CpShown: "Checkpoint {}: {}\n{} UTC, {}, holds {}: {}, {}\n", "检查点 {}：{}\n{} UTC，{}，包含{}：{}，{}\n";
    CpNamed: "named     {}\n", "指定      {}\n";
    CpModes: " (mode {} to {})", "（权限 {} 改为 {}）";
    CpBack: "restored  {}\n", "已恢复    {}\n";
    CpRemoved: "Removed {}; {} before, {} now.\n", "已移除 {}；之前 {}，现在 {}。\n";
    CpByHand: "by hand", "手动";
    CpKeepForce: "`--keep` leaves them as they are, `--force` restores them as well.", "`--keep` 保持它们不变，`--force` 也恢复它们。";
    CpNone: "There are no checkpoints of this project.", "此项目没有检查点。";
    CpTree: "the tree", "目录树";
    CpIgnoredToo: "ignored files too", "包括被忽略的文件";
    CpSome: "some files", "部分文件";
    CpInPart: "It does not hold the whole tree: {}.\n", "未保存整个目录树：{}。\n";
    CpLeftOut: "left out  {}: {}\n", "略过  {}：{}\n";
    CpNoDiffers: "Nothing differs.", "没有差别。";
    CpRestored: "{} as in checkpoint {}. Undo: ostler checkpoint restore {}\n", "{}已恢复为检查点 {} 的状态。撤销：ostler checkpoint restore {}\n";
    CpLeftAsIs: "{} was left as it is: {}", "{} 保持不变：{}";
    BadQuota: "--quota {} is not a size; write it like 500MB or 2GB", "--quota {} 不是大小；请写如 500MB 或 2GB";
    CpWasLeft: "{} was left out: {}", "{} 已略过：{}";
    // Utilities: mcp
    ColName: "name", "名称";
    ColType: "type", "类型";
    ColScope: "scope", "范围";
    McpAdded: "Added {} to {}.\n", "已将 {} 添加到 {}。\n";
    McpOff: "off", "停用";
    McpOn: "on", "启用";
    McpWasAdded: "{}: added\n", "{}：已添加\n";
    McpWorks: "{} works: {}, protocol {}, {} ms\n", "{} 可用：{}，协议 {}，{} 毫秒\n";
    TrustNoServer: "there is no server `{}` in it", "其中没有服务器 `{}`";
    TrustFileGone: "{} is not there any more", "{} 已不存在";
    TrustNoServers: "{} is no list of servers: {}", "{} 不是服务器列表：{}";
    TrustNoList: "`{}` is no list", "`{}` 不是列表";
    TrustNotForGood: "the project is not trusted for good; run `ostler trust`", "项目未被长期信任；请运行 `ostler trust`";
    TrustChangedMeanwhile: "the project has changed meanwhile; run `ostler trust`", "项目在此期间有改动；请运行 `ostler trust`";
    TrustNoFile: "its file is not known", "不知道它的文件";
    PluginAddress: "{} provides models, which only a program can", "{} 提供模型，但只有程序才能提供";
    PluginFails: "plugin {}", "插件 {}";
    PluginWorks: "{} works: {}, {} ms", "{} 可用：{}，{} 毫秒";
    CountModels: "{} model¦{} models", "{} 个模型";
    McpReads: " (reads only)", "（只读）";
    McpNote: "Note: {}\n", "注意：{}\n";
    McpNothingToAdd: "nothing to add", "没有可添加的内容";
    McpAddressArgs: "an address takes headers (-H) and no arguments; options stand before the name", "地址使用请求头（-H），没有参数；选项写在名称之前";
    McpBadHeader: "`{}` is no header; write \"Name: value\"", "`{}` 不是请求头；请写 \"名称: 值\"";
    McpProgramHeaders: "only an address has headers and a login; a program has -e", "只有地址有请求头和登录；程序使用 -e";
    McpBadPair: "`{}` is no variable; write NAME=VALUE", "`{}` 不是变量；请写 NAME=VALUE";
    McpExists: "there is a server `{}` already; `ostler mcp remove {}` takes it out", "已有服务器 `{}`；`ostler mcp remove {}` 可移除";
    McpAfterTrust: "It takes effect once the project is trusted: ostler trust\n", "项目受信任后生效：ostler trust\n";
    McpTryIt: "Try it: ostler mcp test {}\n", "试一试：ostler mcp test {}\n";
    CannotBeLocked: "{} cannot be locked", "无法锁定 {}";
    McpNoListFile: "{} is no list of servers", "{} 不是服务器列表";
    McpNoServers: "No servers. Add one: ostler mcp add <name> -- <command> <arguments>\n", "没有服务器。添加：ostler mcp add <名称> -- <命令> <参数>\n";
    McpProjectLeft: "This project is not trusted, so its own servers are not among them: ostler trust", "此项目未受信任，因此不含它自己的服务器：ostler trust";
    ThereAreNone: "there are none", "一个也没有";
    ThereAre: "there are {}", "可用：{}";
    McpNotTrusted: ", and this project is not trusted (ostler trust)", "，且此项目未受信任（ostler trust）";
    McpNoSuch: "there is no server `{}`; {}{}", "没有服务器 `{}`；{}{}";
    McpTookOut: "Took {} out of {}.\n", "已从 {1} 移除 {0}。\n";
    McpInPlugins: "`{}` stands in [[plugins]] at {}; take it out there", "`{}` 写在 {} 的 [[plugins]] 中；请在那里移除";
    McpNotInFiles: "there is no server `{}` in these files", "这些文件中没有服务器 `{}`";
    McpFileGone: "{} is not there", "{} 不存在";
    McpFileNoJson: "{}: no JSON; left alone", "{}：不是 JSON；未处理";
    McpNothingFound: "No servers were found. Name a file: ostler mcp import <file>", "没有找到服务器。请指定文件：ostler mcp import <文件>";
    McpLeftOut: "{}: left out, {}\n", "{}：略过，{}\n";
    McpThereAlready: "{}: there is one already\n", "{}：已存在\n";
    McpNotReady: "it was not ready within {} s ([tools] mcp_start_seconds): {}", "{} 秒内未就绪（[tools] mcp_start_seconds）：{}";
    McpBroken: "{} does not work: {}", "{} 不能工作：{}";
    McpIsProgram: "{} is a program; only a server with an address has a login", "{} 是程序；只有带地址的服务器才有登录";
    McpNoLoginNeeded: "{} lets us in; no login is needed.\n", "{} 无需登录。\n";
    McpNoLogin: "no login to {}: {}", "无法登录 {}：{}";
    McpLoggedIn: "Logged in to {}. Try it: ostler mcp test {}\n", "已登录 {}。试一试：ostler mcp test {}\n";
    McpBrowserGone: "the browser did not come back", "浏览器没有返回";
    McpServerSays: "the server says {}", "服务器说 {}";
    McpLoggedOut: "Logged out of {}.\n", "已退出 {}。\n";
    McpNameless: "a server without a name", "没有名称的服务器";
    // Utilities: setup
    PlanWhich: "Which provider?", "哪个提供商？";
    SetWhichModel: "Which model?", "哪个模型？";
    SetWrote: "Wrote {} = {} to {}", "已将 {} = {} 写入 {}";
    ChooseMore: "      … and {} more; type a name\n", "      ……还有 {} 个；请输入名称\n";
    ChooseNo: "There is no {}; choose 1 to {}.", "没有 {}；请选择 1 到 {}。";
    OrNear: "; did you mean `{}`?", "；是否指 `{}`？";
    PlanNoProvider: "no provider is called `{}`{}\nproviders: {}; a new one needs its --base-url", "没有名为 `{}` 的提供商{}\n提供商：{}；新的需要 --base-url";
    PlanEmptyUrl: "--base-url is empty", "--base-url 为空";
    PlanNoKind: "there is no kind `{}`{}\nkinds: {}", "没有类型 `{}`{}\n类型：{}";
    PlanByProject: "provider `{}` is defined by this project's ostler.toml; run setup in another folder, or put it into your own config file", "提供商 `{}` 由此项目的 ostler.toml 定义；请在其他文件夹运行 setup，或写入你自己的配置文件";
    PlanByLogin: "provider `{}` is used with a login; run `ostler login {}`", "提供商 `{}` 使用登录；请运行 `ostler login {}`";
    PlanSeveral: "several can be used: {}; choose one with --use", "有多个可用：{}；请用 --use 选择";
    PlanByAddress: "a server by its address", "按地址指定服务器";
    PlanNoName: "no provider is called `{}`; `ostler setup --use NAME --base-url URL` adds one", "没有名为 `{}` 的提供商；`ostler setup --use NAME --base-url URL` 可添加";
    PlanAskUrl: "Base URL (like http://127.0.0.1:8080/v1): ", "基础地址（如 http://127.0.0.1:8080/v1）：";
    PlanRunning: "running at {}", "运行于 {}";
    PlanConfigured: "configured, needs no key", "已配置，无需密钥";
    PlanNoKeyYet: "no key yet", "还没有密钥";
    PlanBadKey: "its key cannot be used", "其密钥无法使用";
    PlanNothing: "no key and no model server on this machine was found\nset one of {}, or run `ostler setup --use PROVIDER --key -`\nor see it work without an account: `ostler demo`", "没有找到密钥，本机也没有模型服务器\n请设置 {} 之一，或运行 `ostler setup --use PROVIDER --key -`\n或无需账号先看效果：`ostler demo`";
    ProbeNoClient: "the HTTP client cannot be set up", "无法建立 HTTP 客户端";
    ProbeNoKind: "there is no kind `{}`", "没有类型 `{}`";
    ProbeBadHeader: "the header `{}` has characters that cannot be sent", "请求头 `{}` 含有无法发送的字符";
    ProbeNoList: "{} answered, but not with a list of models. Check the base URL of {}", "{} 有回答，但不是模型列表。请检查 {} 的基础地址";
    ProbeNoJson: "{} answered with something that is no JSON. Check the base URL of {}", "{} 的回答不是 JSON。请检查 {} 的基础地址";
    ProbeBadKey: "{} refused the key ({}){}. Check that it is whole and not expired", "{} 拒绝了密钥（{}）{}。请检查它是否完整、是否过期";
    ProbeWantsKey: "{} wants a key and there is none ({}){}", "{} 需要密钥，但没有（{}）{}";
    ProbeRefused: "{} refused the request (400){}", "{} 拒绝了请求（400）{}";
    ProbeRedirects: "{} redirects elsewhere ({}). Set the base URL of {} to the new address", "{} 转到别处（{}）。请将 {} 的基础地址设为新地址";
    ProbeLater: "{} answered {}{}. Try again later", "{} 回答 {}{}。请稍后再试";
    ProbeNoServer: "{} refused the connection. Is the server running, and is the base URL right?", "{} 拒绝连接。服务器是否在运行，基础地址是否正确？";
    ProbeNoTime: "{} did not answer in time. Check the base URL and the network", "{} 未及时回答。请检查基础地址与网络";
    ProbeNoLine: "no connection to {}: {}. Check the base URL and the network", "无法连接 {}：{}。请检查基础地址与网络";
    NothingWritten: "Nothing was written.", "没有写入任何内容。";
    SetEmptyKey: "the key is empty", "密钥为空";
    SetNoKey: "there is no key for {}\nset {}, or pipe the key into `ostler setup --use {} --key -`", "没有 {} 的密钥\n请设置 {}，或将密钥通过管道传给 `ostler setup --use {} --key -`";
    SetAskKey: "Key for {}: ", "{} 的密钥：";
    SetAnswers: "{} answers and has {}.", "{} 有回答，共 {}。";
    SetNoModels: "{} answers, but lists no models.", "{} 有回答，但没有列出模型。";
    SetFailed: "{}\nNothing was written; `--offline` skips the test", "{}\n没有写入任何内容；`--offline` 跳过检查";
    SetUnlisted: "{} does not list `{}`; it is written all the same.", "{} 没有列出 `{}`；仍然写入。";
    SetWhich: "which model of {}? Name one with --model", "{} 的哪个模型？请用 --model 指定";
    SetSavedKey: "Saved the key as {} in {}", "已将密钥存为 {}，位于 {}";
    SetNext: "Next: ostler exec -p \"explain this project\"", "下一步：ostler exec -p \"explain this project\"";
    SetOverruled: "In this folder {} says `{}` instead.", "在此文件夹中 {} 指定了 `{}`。";
    // Utilities: cache and usage
    ColDay: "day", "日期";
    ColSession: "session", "会话";
    CostMore: "{} more", "多花 {}";
    CacheSessionBroken: "Session {}: {} in {}.\n", "会话 {}：{}（{}）。\n";
    CacheNoRequests: "Session {} has no requests yet.", "会话 {} 还没有请求。";
    CacheBreakAt: "at byte {} ({}): {}, about {} tokens again{}", "在第 {} 字节（{}）：{}，约 {} 令牌需重读{}";
    CacheFromProvider: "{}% of the prompt tokens came from the provider's cache", "{}% 的提示令牌来自提供商的缓存";
    CacheNoTokens: "The provider reported no tokens", "提供商没有报告令牌数";
    CacheAllContinued: "{}; every prompt continued the one before.\n", "{}；每个提示都接续前一个。\n";
    CacheUnknownPrice: "at an unknown price", "价格未知";
    CacheBreaksCost: "{}; {} cost about {} tokens, {}.\n", "{}；{}，约耗费 {} 令牌，{}。\n";
    CacheSessionWhole: "Session {}: {}, no unplanned break.\n", "会话 {}：{}，没有计划外的中断。\n";
    CannotBeRead: "{} cannot be read", "无法读取 {}";
    DocNoRequestsYet: "No requests yet.", "还没有请求。";
    UsageUnpriced: "The price of {} of {} requests is not known; the sums are without it.\n¦The price of {} of {} requests is not known; the sums are without them.\n", "{} 个请求（共 {} 个）的价格未知；合计不含它们。\n";
    // Utilities: others
    Found: "found", "存在";
    WroteLine: "Wrote {}\n", "已写入 {}\n";
    WasBefore: " (was {})", "（原为 {}）";
    CfgSetTo: "{} = {}{} in {}\n", "{} = {}{}（{}）\n";
    DemoFolder: "Folder", "文件夹";
    DemoLog: "Log", "日志";
    DemoNext: "Next", "下一步";
    Wrote: "Wrote {}", "已写入 {}";
    AgeNow: "now", "刚才";
    TranscriptError: "\n[Error ({}): {}]\n", "\n[错误（{}）：{}]\n";
    TranscriptStopped: "\n[Interrupted]\n", "\n[已中断]\n";
    TranscriptMore: "    … {} more lines\n", "    ……还有 {} 行\n";
    NotThere: "not there", "不存在";
    CfgUntrustedNow: "this project is not trusted as it is now; `ostler trust` shows what that holds up", "此项目目前未受信任；`ostler trust` 显示因此停用的内容";
    CfgIsSet: "{} is set in {}\n", "{} 已设置于 {}\n";
    DemoTitle: "Offline demo: a script plays the model, everything else is real; no account, no network", "离线演示：由脚本扮演模型，其余均为真实；无需账号与网络";
    DemoReadIt: "Read it", "查看";
    CannotMake: "{} cannot be made", "无法创建 {}";
    DemoNoTemp: "no temporary folder can be made; name one with --dir", "无法创建临时文件夹；请用 --dir 指定";
    CannotBeOpened: "{} cannot be opened", "无法打开 {}";
    DemoExists: "{} exists already; choose an empty folder with --dir", "{} 已存在；请用 --dir 选择空文件夹";
    CannotBeWritten: "{} cannot be written", "无法写入 {}";
    HandoffNoGoal: "--goal is empty; say what the next session is for", "--goal 为空；请写明下一个会话的目标";
    HandoffNoModel: "Without a model, from the log alone: {}", "没有模型，仅依据日志：{}";
    NoStdout: "stdout cannot be written", "无法写入标准输出";
    OlderFolded: "\n[Older work was folded here; this digest stands for it]\n{}", "\n[此处折叠了较早的工作；以下摘要代替它]\n{}";
    ResumeInUse: "the start of the program is still in use", "程序的启动仍在进行";
    // Utilities: memory
    ColUpdated: "updated", "更新";
    ColAbout: "description", "说明";
    MemArchived: "Archived", "已归档";
    MemRestored: "Restored", "已恢复";
    MemNone: "No facts.", "没有记忆。";
    MemNoEditor: "$VISUAL and $EDITOR are not set. The file is {}; edit it with what you like", "未设置 $VISUAL 与 $EDITOR。文件是 {}；请用其他方式编辑";
    CannotStart: "{} cannot be started", "无法启动 {}";
    // Tables of the utilities
    ColEntry: "entry", "条目";
    ColPrompt: "prompt", "提示";
    ColShared: "shared", "共享";
    ColBreak: "break", "中断";
    ColAge: "age", "时间";
    ColFiles: "files", "文件";
    ColAdded: "added", "新增";
    ColHolds: "holds", "包含";
    ColLabel: "label", "说明";
    MarkAdded: "added", "新增";
    MarkRemoved: "removed", "移除";
    MarkReplaced: "replaced", "替换";
    MarkChanged: "changed", "更改";
    ColLayer: "layer", "层";
    ColFile: "file", "文件";
    ColList: "list", "列表";
    ColRule: "rule", "规则";
    ColWhere: "where", "位置";
    ColNote: "note", "备注";
    ColAsked: "asked", "询问";
    ColRules: "rules", "规则";
    ColExample: "example", "例子";
    ColTurns: "turns", "回合";
    ColTitle: "title", "标题";
    ColProject: "project", "项目";
    MarkNew: "new", "新";
    ColText: "text", "文本";
    ColAnswer: "answer", "决定";
    ColItems: "items", "项";
    // Counts
    Comma: ", ", "，";
    ManyProblems: "{} problem¦{} problems", "{} 个问题";
    ManyItems: "{} item¦{} items", "{} 项";
    ManyModels: "{} model¦{} models", "{} 个模型";
    ManySessions: "{} session¦{} sessions", "{} 个会话";
    ManyDamagedLogs: "{} damaged log¦{} damaged logs", "{} 个损坏的日志";
    ManyBadLines: "{} bad line¦{} bad lines", "{} 行损坏";
    ManyRequests: "{} request¦{} requests", "{} 个请求";
    ManyPrefixes: "{} kept prompt beginning¦{} kept prompt beginnings", "{} 个保存的提示开头";
    ManyTools: "{} tool¦{} tools", "{} 个工具";
    ManyPrompts: "{} prompt¦{} prompts", "{} 个提示";
    ManyResources: "{} resource¦{} resources", "{} 个资源";
    ManyBreaks: "{} break¦{} breaks", "{} 次中断";
    ManyUnplanned: "{} unplanned break¦{} unplanned breaks", "{} 次计划外的中断";
    ManyAnswers: "{} more answer¦{} more answers", "另外 {} 次答复";
    ManyRules: "{} allow rule¦{} allow rules", "{} 条允许规则";
    ManyPaths: "{} path¦{} paths", "{} 个路径";
    ManyCheckpoints: "{} checkpoint¦{} checkpoints", "{} 个检查点";
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
            let (one, many) = english.split_once('¦').unwrap_or((english, english));
            assert!(!chinese.contains('¦'), "{word:?}");
            assert_eq!(holes(many), holes(chinese), "{word:?}");
            // `1 line` needs no hole.
            assert!(holes(one) <= holes(many), "{word:?}");
        }
    }

    /// How many values a text takes.
    fn holes(text: &str) -> usize {
        let (mut rest, mut plain, mut numbered) = (text, 0, 0);
        while let Some((_, end, at)) = hole(rest) {
            plain += usize::from(at.is_none());
            numbered = numbered.max(at.map_or(0, |n| n + 1));
            rest = &rest[end..];
        }
        assert!(plain == 0 || numbered == 0, "{text}");
        plain + numbered
    }

    #[test]
    fn holes_are_filled() {
        for (text, expect) in [
            ("a {} b {}", "a 1 b 2"),
            ("{1} before {0}", "2 before 1"),
            ("${{}}", "${1}"),
            ("a `}` and { b }", "a `}` and { b }"),
            ("{} {} {}", "1 2 "),
        ] {
            assert_eq!(filled(text, &["1", "2"]), expect, "{text}");
        }
        let say = |n| Language::English.many(Word::Files, n, &[&n.to_string()]);
        assert_eq!([say(0), say(1), say(2)], ["0 files", "1 file", "2 files"]);
        let say = |n| Language::Chinese.many(Word::Files, n, &[&n.to_string()]);
        assert_eq!(say(1), "1 个文件");
    }

    #[test]
    fn thousands_stand_apart() {
        for (number, expect) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(thousands(number), expect);
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
