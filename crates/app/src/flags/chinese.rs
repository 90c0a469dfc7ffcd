//! What the flags are for, in Chinese, by what they say in English. The English stands at the flags themselves; shells and
//! the manual page have it alone.

use clap::builder::StyledStr;
use clap::{Arg, Command};

/// The command line with its descriptions in Chinese.
pub fn translated(command: Command) -> Command {
    let about = command.get_about().and_then(of);
    let command = match about {
        Some(about) => command.about(about),
        None => command,
    };
    command
        .mut_args(|arg| {
            let help = arg.get_help().and_then(of).unwrap_or_default();
            let help = format!("{help}{}", values(&arg)).trim_start().to_owned();
            let arg = match arg.get_action().takes_values() {
                true => arg.hide_possible_values(true).hide_default_value(true),
                false => arg,
            };
            match help.is_empty() {
                true => arg,
                false => arg.help(help),
            }
        })
        .mut_subcommands(translated)
}

/// What the library would say about the values of a flag.
fn values(arg: &Arg) -> String {
    let mut out = String::new();
    if !arg.get_action().takes_values() {
        return out;
    }
    let default: Vec<_> = arg.get_default_values().iter().collect();
    let default: Vec<_> = default
        .iter()
        .map(|value| value.to_string_lossy())
        .collect();
    if !default.is_empty() && !arg.is_hide_default_value_set() {
        out.push_str(&format!(" [默认：{}]", default.join(", ")));
    }
    let possible = arg.get_possible_values();
    let possible: Vec<&str> = possible.iter().map(|value| value.get_name()).collect();
    if !possible.is_empty() && !arg.is_hide_possible_values_set() {
        out.push_str(&format!(" [可选值：{}]", possible.join(", ")));
    }
    out
}

fn of(english: &StyledStr) -> Option<&'static str> {
    let english = english.to_string();
    let row = TABLE.iter().find(|(text, _)| *text == english)?;
    Some(row.1)
}

// tidy: table
#[rustfmt::skip]
const TABLE: &[(&str, &str)] = &[
    ("Remove the program, and with --purge all that it keeps", "移除程序；加 --purge 时连同其保存的一切"),
    ("Count the calls of sessions since then that each rule decides: 12h, 30d or 4w", "统计此后的会话中由每条规则决定的调用：12h、30d 或 4w"),
    ("Only show what would be removed", "只显示会移除什么"),
    ("Your settings, keys, sessions and checkpoints, too", "连同您的设置、密钥、会话和检查点"),
    ("Take over settings, servers, commands and sessions of other agents", "采用其他代理的设置、服务器、命令和会话"),
    ("Only from this agent; may be repeated", "仅来自此代理；可重复"),
    ("Only show what would be taken", "只显示会采用什么"),
    ("Only these kinds, comma-separated", "仅这些类型，用逗号分隔"),
    ("Do not ask. What starts programs, sends data or allows something is taken only if --take names its kind", "不询问。启动程序、发送数据或放行操作的内容，仅当 --take 指定其类型时才采用"),
    ("Sessions of every project, not only of this one", "所有项目的会话，而不只是本项目的"),
    ("text, or json for programs; with --dry-run", "text，或供程序使用的 json；与 --dry-run 一起使用"),
    ("A session of another agent; without an id they are listed", "另一个代理的会话；不给 id 时列出"),
    ("Work at another machine over your own ssh: user@host or user@host:port; --root is a folder there", "通过你自己的 ssh 在另一台机器上工作：user@host 或 user@host:port；--root 是那里的文件夹"),
    ("Work in a running container of docker or podman", "在运行中的 docker 或 podman 容器中工作"),
    ("Run commands in a new container of this image, with the project in it and no network, removed at the end", "在此镜像的新容器中运行命令：项目在其中，没有网络，结束时删除"),
    ("Run commands in a tmux pane that you can watch and type in; =SESSION: in a session of your own tmux", "在你可以观看并输入的 tmux 窗格中运行命令；=SESSION：在你自己的 tmux 会话中"),
    ("Work in a running pod, by kubectl", "通过 kubectl 在运行中的 pod 中工作"),
    ("Work at the place with this name in the configuration", "在配置中此名称的位置工作"),
    ("Copy the helper to the place without asking", "不经询问即将助手复制到该处"),
    ("Look at another place to work at, or take the helper away from it", "查看另一个工作位置，或从中移除助手"),
    ("Show what the place is like, and what works there", "显示该位置的情况以及可用的功能"),
    ("Remove the helper from the place", "从该位置移除助手"),
    ("Speak the Agent Client Protocol on stdin and stdout: an editor starts this", "在 stdin 与 stdout 上使用 Agent Client Protocol：由编辑器启动"),
    ("Continue the newest session of this project", "继续此项目最新的会话"),
    ("Continue the session with this id, or choose one from a list", "继续此编号的会话，或从列表中选择"),
    ("The first prompt of the conversation", "对话的第一条提示"),
    ("No progress on stderr: only errors and what needs you", "标准错误上不显示进度：只有错误和需要你处理的内容"),
    ("List the models to choose from, with context window and price", "列出可选的模型及其上下文窗口与价格"),
    ("Serve sessions to browsers and programs on this machine", "向本机的浏览器和程序提供会话"),
    ("Further folders to offer as projects, beside --root or the current one", "除 --root 或当前文件夹外，另外作为项目提供的文件夹"),
    ("Further folders that calls may work in, beside --root or the current one", "除 --root 或当前文件夹外，调用可以在其中工作的文件夹"),
    ("Listen for HTTP at this port or address instead of stdin and stdout; port 0 takes a free one", "在此端口或地址监听 HTTP，而不使用标准输入与输出；端口 0 表示任选一个空闲端口"),
    ("Offer this agent as an MCP server to other agents and programs", "作为 MCP 服务器向其他代理与程序提供此代理"),
    ("Open it in the browser", "在浏览器中打开"),
    ("Listen on this port; 0 takes a free one", "监听此端口；0 表示任选一个空闲端口"),
    ("Ask for a password that lets people in, for this run", "询问本次运行的登录密码"),
    ("Read a password and print the hash for `[serve] password_hash`", "读取密码并打印用于 `[serve] password_hash` 的哈希"),
    ("A coding agent for the terminal. Without a command it starts a conversation", "终端中的编程代理。不带命令时开始对话"),
    ("Run this prompt and exit, as `exec -p` does", "运行此提示后退出，同 `exec -p`"),
    ("Work in this folder instead of the current one", "在此文件夹而非当前文件夹中工作"),
    ("The model: a provider, a model, or provider/model", "模型：提供商、模型，或 provider/model"),
    ("The provider of --model, or its default model", "--model 的提供商，或其默认模型"),
    ("Another agent in place of a model: codex, claude/MODEL, or acp:COMMAND for one that speaks ACP", "用另一个代理代替模型：codex、claude/MODEL，或以 acp:命令 指定任何支持 ACP 的代理"),
    ("How hard the model thinks: none, minimal, low, medium, high, max", "模型思考的深度：none、minimal、low、medium、high、max"),
    ("Operator instructions for the system prompt; \"\" clears the configured ones", "系统提示中的操作者指令；\"\" 清除已配置的指令"),
    ("Continue this session", "继续此会话"),
    ("Start a new session with a copy of this one", "以此会话的副本开始新会话"),
    ("Keep no session log", "不保存会话日志"),
    ("How to work: normal, plan to look only and make a plan first, or goal to go on until it is reached", "工作方式：normal；plan 只查看并先制定计划；goal 持续工作直到达成目标"),
    ("What may run without asking: ask (nothing), edits (edits in the project), auto (what the sandbox holds) or yolo", "无需询问即可运行的范围：ask（无）、edits（项目内的编辑）、auto（沙箱所限之内）或 yolo"),
    ("Allow everything that no rule denies", "允许规则未拒绝的一切"),
    ("Only these tools, comma-separated; !name leaves one out", "只用这些工具，以逗号分隔；!name 排除一个"),
    ("A rule for this run: what it speaks of may run unasked, like Net(example.com)", "本次运行的规则：所涉内容无需询问即可运行，例如 Net(example.com)"),
    ("Run commands without the operating system's sandbox", "不使用操作系统的沙箱运行命令"),
    ("Trust what this project's files bring, for this run only", "仅在本次运行中信任此项目文件带来的内容"),
    ("Do not begin without every MCP server", "MCP 服务器未全部就绪则不开始"),
    ("Most model requests of one turn; 0 means no limit", "一个回合中模型请求的上限；0 表示不限"),
    ("Most that this run may cost: USD, or tokens like 500ktokens", "本次运行的费用上限：美元，或如 500ktokens 的令牌数"),
    ("Another configuration file in place of the user's", "用另一个配置文件代替用户的配置文件"),
    ("A further folder that file tools may change", "文件工具可以更改的另一个文件夹"),
    ("No colours", "不使用颜色"),
    ("Plain lines, no terminal UI", "纯文本行，不使用终端界面"),
    ("Say more on stderr", "在标准错误输出更多信息"),
    ("Run one prompt and print the answer", "运行一个提示并打印回答"),
    ("Continue a session", "继续会话"),
    ("List, show, search, export and delete sessions", "列出、查看、搜索、导出与删除会话"),
    ("Write a file with what a new session needs to continue another one", "将新会话继续另一会话所需的内容写入文件"),
    ("Show and change settings", "查看与更改设置"),
    ("Try, list, remove and suggest permission rules; audit what a session touched", "试用、列出、移除和建议权限规则；审计会话触及的内容"),
    ("Manage memory: list, show, search, edit, archive and restore facts", "管理记忆：列出、查看、搜索、编辑、归档、恢复"),
    ("Manage MCP servers: add, list, test, log in", "管理 MCP 服务器：添加、列出、测试、登录"),
    ("List and show skills", "列出与查看技能"),
    ("List and show roles of sub-agents", "列出与查看子代理的角色"),
    ("Find keys and local servers, test the connection, write a configuration", "查找密钥与本地服务器，测试连接，写入配置"),
    ("Log in to a provider, in the browser or with a code on another device", "登录提供商：用浏览器，或在另一设备上用代码"),
    ("Forget a login", "忘记登录"),
    (
        "Show the sessions of the `ostler serve` at this address instead of running one here",
        "显示此地址的 `ostler serve` 的会话，而不是在这里运行",
    ),
    (
        "Read the token for --attach from the first line of stdin",
        "从 stdin 的第一行读取 --attach 的令牌",
    ),
    (
        "The provider, that of the model in use when left out; or the address of an `ostler serve`",
        "提供商，省略时为当前模型的提供商；或 `ostler serve` 的地址",
    ),
    (
        "The provider, the only one with a login when left out; or the address of an `ostler serve`",
        "提供商，省略时为唯一已登录的提供商；或 `ostler serve` 的地址",
    ),
    ("Log in, log out, and see which logins there are", "登录、退出登录与查看现有的登录"),
    ("Check the installation: configuration, keys, tools, sessions", "检查安装：配置、密钥、工具、会话"),
    ("Review and trust this project's settings", "查看并信任此项目的设置"),
    ("Tokens and cost of past requests", "以往请求的令牌数与费用"),
    ("Prompt-cache report for a session", "会话的提示缓存报告"),
    ("Checkpoints of this project's files: list, compare, restore", "此项目文件的检查点：列出、比较、恢复"),
    ("Watch a short coding session, offline and without an account", "观看一段简短的编程会话，无需网络与账户"),
    ("Print a completion script for a shell", "打印 shell 的补全脚本"),
    ("Print the manual page", "打印手册页"),
    ("The prompt; - reads it from stdin", "提示；- 表示从标准输入读取"),
    ("The prompt", "提示"),
    ("Where prompts come from: text, or stream-json for one op a line on stdin", "提示的来源：text，或 stream-json（标准输入每行一个操作）"),
    ("The answer must be JSON that fits this JSON Schema", "回答必须是符合此 JSON Schema 的 JSON"),
    ("What goes to stdout: text, json (every event), or result (one object)", "标准输出的内容：text、json（每个事件）或 result（一个对象）"),
    ("The same with other names: text, json (one object), stream-json (every event)", "同上，名称不同：text、json（一个对象）、stream-json（每个事件）"),
    ("The session, or the beginning of its id; the newest of this project when left out", "会话编号或其开头；省略时为此项目最新的会话"),
    ("The newest session of this project", "此项目最新的会话"),
    ("Run this prompt in it and exit", "在其中运行此提示后退出"),
    ("Sessions of this project, newest first", "此项目的会话，最新的在前"),
    ("Of every project", "所有项目的"),
    ("text, or json for programs", "text，或供程序使用的 json"),
    ("What was said and done", "说了什么、做了什么"),
    ("Continue one", "继续一个会话"),
    ("Find messages that have all the words", "查找包含所有词语的消息"),
    ("Write one as a document", "将一个会话写成文档"),
    ("A file instead of stdout", "写入文件而非标准输出"),
    ("Delete one", "删除一个会话"),
    ("Delete the oldest ones until the rest fits a size", "删除最旧的会话，直到其余的不超过指定大小"),
    ("Like 500MB or 2GB; [sessions] quota when left out", "如 500MB 或 2GB；省略时为 [sessions] quota"),
    ("Only say what would go", "只说明会删除什么"),
    ("What the next session is for, in your words", "用你的话说明下一个会话的目的"),
    ("From the log alone, without a request to a model", "仅根据日志，不请求模型"),
    ("The configuration files and which of them exist", "配置文件及其是否存在"),
    ("Write a commented starter file", "写入带注释的初始配置文件"),
    ("One setting", "一项设置"),
    ("Change one setting, keeping comments and order", "更改一项设置，保留注释与顺序"),
    ("In the project's ostler.toml instead of the user's file", "写入项目的 ostler.toml 而非用户的文件"),
    ("Every setting in force", "所有生效的设置"),
    ("And where each came from", "以及各自的来源"),
    ("Whether remembered facts are recalled with your prompts", "是否随提示回忆已记住的事实"),
    ("The JSON Schema of the file, for editors", "配置文件的 JSON Schema，供编辑器使用"),
    ("What would be said to a call, without running it", "一次调用会得到怎样的判定，不实际运行"),
    ("The arguments as JSON; for bash also the command itself", "JSON 格式的参数；bash 也可直接写命令"),
    ("Every rule, where it stands, and what is odd about it", "每条规则、其所在位置与异常之处"),
    ("Take a rule out of the files that hold it", "从所在文件中移除一条规则"),
    ("Only from this file", "仅从此文件中"),
    ("The smallest rules for what was allowed by hand", "涵盖手动允许的内容的最小规则"),
    ("How far to look back, like 12h, 30d or 4w", "回溯多久，如 12h、30d 或 4w"),
    ("Save them", "保存这些规则"),
    ("In this file", "保存到此文件"),
    ("Every path and host that a session touched, call by call", "会话触及的每个路径与主机，逐次调用列出"),
    ("Use this provider without asking", "直接使用此提供商，不询问"),
    ("Save this key for it; - reads it from stdin", "为其保存此密钥；- 表示从标准输入读取"),
    ("Another endpoint", "另一个端点"),
    ("The protocol of that endpoint, as `kind` in the configuration", "该端点的协议，同配置中的 `kind`"),
    ("Do not test the connection", "不测试连接"),
    ("Open no browser: print what to open elsewhere", "不打开浏览器：打印需在别处打开的地址"),
    ("With a code that is typed in on another device", "在另一设备上输入代码"),
    ("As `ostler login`", "同 `ostler login`"),
    ("As `ostler logout`", "同 `ostler logout`"),
    ("Which providers have a login, and until when", "哪些提供商已登录，有效期到何时"),
    ("As JSON", "以 JSON 输出"),
    ("Also ask the providers whether they answer", "同时询问各提供商是否应答"),
    ("Also look for other agents: their programs, versions and logins", "同时查找其他代理：程序、版本和登录状态"),
    ("Also put one question to each of them; it costs a request", "同时向每个代理提一个问题；会产生一次请求费用"),
    ("Do not ask", "不询问"),
    ("The projects that were decided about", "已作出决定的项目"),
    ("Trust an item that is too long to be shown, by its hash; may be repeated", "按哈希信任一个太长而无法显示的项目；可重复"),
    ("Forget a project; this one when no path is given", "忘记一个项目；未给出路径时为此项目"),
    ("text, or json for programs; with --list", "text，或供程序使用的 json；与 --list 一起使用"),
    ("What the sums are for", "按什么汇总"),
    ("Draw bars beside the sums, also where the output is no terminal", "在汇总旁绘制条形图，输出不是终端时也绘制"),
    ("Each request: what it shared with the one before, and where it broke", "每个请求：与前一个请求共有的部分，以及在何处中断"),
    ("The newest session of this project when left out", "省略时为此项目最新的会话"),
    ("Fail when a prompt of the session did not continue the one before", "若会话中有提示未延续前一个提示则失败"),
    ("Keep the scratch folder here instead of a temporary one", "将工作文件夹保留在此处，而非临时位置"),
    ("The checkpoints of this project, oldest first", "此项目的检查点，最旧的在前"),
    ("What one holds and what was left out of it", "检查点包含什么、略过了什么"),
    ("What changed from one to another, or to now", "两个检查点之间或到现在的更改"),
    ("The tree as it is now when left out", "省略时为目录树的当前状态"),
    ("Save the tree as it is now", "保存目录树的当前状态"),
    ("Save ignored files, too", "也保存被忽略的文件"),
    ("Bring the tree back as it was; that can be undone", "将目录树恢复原状；可以撤销"),
    ("Remove the oldest ones until the rest fits a size", "移除最旧的检查点，直到其余的不超过指定大小"),
    ("Like 500MB or 2GB; that of the configuration when left out", "如 500MB 或 2GB；省略时为配置中的值"),
    ("Only these and what is below them", "仅这些路径及其下的内容"),
    ("Leave files that changed since the newest checkpoint as they are", "自最新检查点以来有更改的文件保持不变"),
    ("Restore files that changed since the newest checkpoint, too", "也恢复自最新检查点以来有更改的文件"),
    ("HEAD, refs and index of the repository, too", "也包括仓库的 HEAD、引用与索引"),
    ("Every skill, what it is for and where it comes from", "每个技能、其用途与来源"),
    ("The text of one", "一个技能的文本"),
    ("Every role that sub-agents can play, with its model and what it may do", "子代理可扮演的每个角色、其模型与权限"),
    ("Add a server: a program with its arguments after --, or an address", "添加服务器：-- 之后的程序及其参数，或一个地址"),
    ("Every server, and where it is configured", "每个服务器及其配置位置"),
    ("One server as it is configured, secrets covered", "一个服务器的配置，密钥已遮盖"),
    ("Take a server out of the file that holds it", "从所在文件中移除一个服务器"),
    ("Take over the servers of another program's file; without one, of all that are found", "导入其他程序文件中的服务器；未指定时导入找到的全部"),
    ("Log in to a server that wants it, in the browser", "在浏览器中登录需要登录的服务器"),
    ("Forget the login of a server", "忘记服务器的登录"),
    ("Connect to a server and say what it offers, or why not", "连接服务器并说明它提供什么，或为何不行"),
    ("The program and its arguments, or an address", "程序及其参数，或一个地址"),
    ("How it is reached: stdio (a program) or http (an address); found out from what follows when left out", "连接方式：stdio（程序）或 http（地址）；省略时由后面的内容判断"),
    ("Where it is kept: user (every project), project (.mcp.json) or local (this project, not shared)", "保存位置：user（所有项目）、project（.mcp.json）或 local（仅此项目，不共享）"),
    ("A variable for the program, NAME=VALUE", "程序的环境变量，NAME=VALUE"),
    ("A header for an address, \"Name: value\"", "地址的请求头，\"Name: value\""),
    ("How the issuer of an address's logins knows us, where it does not register us itself", "登录签发方对我们的标识（签发方不自行注册客户端时）"),
    ("The variable that has the secret which goes with it", "存放相应密钥的环境变量"),
    ("The port that the browser comes back to, where the issuer wants a certain one", "浏览器返回的端口（签发方要求固定端口时）"),
    ("The facts of this project and of all, those that changed last first", "此项目与所有项目的事实，最近更改的在前"),
    ("Those that were archived", "已归档的"),
    ("One fact whole", "一条事实的全文"),
    ("Facts with any of the words, best first", "包含任一词语的事实，最匹配的在前"),
    ("Open the file of a fact in your editor", "在编辑器中打开事实的文件"),
    ("Take a fact out of what is found; restore brings it back", "将事实归档，不再被找到；restore 可恢复"),
    ("Bring an archived fact back", "恢复已归档的事实"),
    ("The folders that facts lie in, or the file of one", "事实所在的文件夹，或某条事实的文件"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::Cli;
    use clap::CommandFactory;

    fn english(command: &Command, out: &mut Vec<String>) {
        out.extend(command.get_about().map(ToString::to_string));
        let helps = command.get_arguments().filter_map(|arg| arg.get_help());
        out.extend(helps.map(ToString::to_string));
        command.get_subcommands().for_each(|sub| english(sub, out));
    }

    #[test]
    fn every_flag_and_command_is_told_in_chinese() {
        let mut texts = Vec::new();
        english(&Cli::command(), &mut texts);
        assert!(texts.len() > 150, "{}", texts.len());
        let known = |text: &String| TABLE.iter().any(|(row, _)| row == text);
        let missing: Vec<&String> = texts.iter().filter(|text| !known(text)).collect();
        assert!(missing.is_empty(), "no row for: {missing:#?}");
        let unused: Vec<&str> = TABLE.iter().map(|(row, _)| *row).collect();
        let unused = unused.iter().filter(|row| !texts.iter().any(|t| t == *row));
        assert_eq!(unused.collect::<Vec<_>>(), Vec::<&&str>::new());
        let mut shown = Vec::new();
        english(&translated(Cli::command()), &mut shown);
        let is_chinese = |text: &String| text.contains(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
        let left: Vec<&String> = shown.iter().filter(|text| !is_chinese(text)).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
