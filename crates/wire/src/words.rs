//! Every text that a person reads in more than one language: one table, filled at compile time. What models read, logs and
//! errors of the system stay in English.
// tidy: table

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

words! {
    // Approvals and questions
    WantsTo: "{} wants your permission", "{} 请求许可";
    ChildWantsTo: "{} ({}) wants your permission", "{}（{}）请求许可";
    AllowOnce: "allow once", "允许一次";
    AllowSession: "allow for this session", "本次会话内允许";
    AllowAlways: "always allow", "始终允许";
    Deny: "deny", "拒绝";
    DenyReason: "deny, and say why", "拒绝并说明原因";
    WhyNot: "why not? (enter sends, empty is fine)", "原因？（回车发送，可留空）";
    PlanReady: "The plan is ready", "计划已就绪";
    PlanApprove: "approve and go on", "批准并执行";
    PlanEdit: "edit it first", "先修改";
    PlanKeep: "keep planning, and say what to change", "继续计划并说明修改意见";
    OwnWords: "or in your own words", "或自行输入";
    PickKeys: "↑↓ choose · enter take · type to search · esc close", "↑↓ 选择 · 回车确认 · 输入以搜索 · esc 关闭";
    AskKeys: "↑↓ choose · enter take · pgup/pgdn scroll · esc stop", "↑↓ 选择 · 回车确认 · pgup/pgdn 滚动 · esc 停止";
    MultiKeys: "space marks · enter sends · esc stop", "空格标记 · 回车发送 · esc 停止";
    MoreRows: "… {} more rows", "……还有 {} 行";
    NothingFits: "nothing fits", "没有匹配项";
    // Work
    Working: "working", "工作中";
    Thinking: "thinking", "思考中";
    Waiting: "waiting for the model", "等待模型";
    StopKey: "esc stops", "esc 停止";
    Stopping: "stopping", "正在停止";
    Queued: "queued", "已排队";
    Steers: "joins the turn", "加入当前回合";
    RetryIn: "retry in {} s ({})", "{} 秒后重试（{}）";
    QuitAgain: "ctrl-c again leaves", "再按 ctrl-c 退出";
    // Composer and status
    Placeholder: "Ask, or /help", "输入问题，或 /help";
    Context: "{}% context", "上下文 {}%";
    Cached: "{}% cached", "缓存 {}%";
    Jobs: "{} jobs", "{} 个任务";
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
    NoImage: "no picture could be pasted: {}", "无法粘贴图片：{}";
    Resumed: "goes on with {}", "继续会话 {}";
    NewSession: "a new session", "新会话";
    CannotOpen: "the session could not be opened: {}", "无法打开会话：{}";
    SessionOver: "the session has ended", "会话已结束";
    Earlier: "… {} earlier entries", "……更早的 {} 条";
    NoTheme: "there is no theme {}; there are: {}", "没有主题 {}；可用：{}";
    PagerKeys: "↑↓ pgup pgdn g G · / search · q back", "↑↓ pgup pgdn g G · / 搜索 · q 返回";
    SearchFor: "search: {}", "搜索：{}";
    HistorySearch: "history: {}", "历史：{}";
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
