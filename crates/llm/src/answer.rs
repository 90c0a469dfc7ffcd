//! Gathers the chunks of one answer into ordered parts.

use crate::{AnswerPart, Chunk, TokenUsage};
use ostler_wire::{Json, Stop};

/// A whole answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub parts: Vec<AnswerPart>,
    pub usage: TokenUsage,
    /// What sendings of the same request have cost that failed before it.
    pub wasted: TokenUsage,
    pub stop: Option<Stop>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    Text,
    Reasoning,
}

pub struct Assembler {
    answer: Answer,
    open: Open,
}

impl Default for Assembler {
    fn default() -> Self {
        Self {
            answer: Answer::default(),
            open: Open::Nothing,
        }
    }
}

impl Assembler {
    pub fn push(&mut self, chunk: Chunk) {
        match chunk {
            Chunk::Text(more) => {
                if let (Open::Text, Some(AnswerPart::Text { text, .. })) =
                    (self.open, self.answer.parts.last_mut())
                {
                    text.push_str(&more);
                } else if !more.is_empty() {
                    self.start(
                        Open::Text,
                        AnswerPart::Text {
                            text: more,
                            replay: None,
                        },
                    );
                }
            }
            Chunk::Reasoning(more) => {
                if let (Open::Reasoning, Some(AnswerPart::Reasoning { text, .. })) =
                    (self.open, self.answer.parts.last_mut())
                {
                    text.push_str(&more);
                } else if !more.is_empty() {
                    self.start(
                        Open::Reasoning,
                        AnswerPart::Reasoning {
                            text: more,
                            replay: None,
                        },
                    );
                }
            }
            Chunk::EndText { replay } => self.end_text(replay),
            Chunk::EndReasoning { replay } => self.end_reasoning(replay),
            Chunk::Call {
                id,
                name,
                arguments,
                replay,
            } => {
                self.open = Open::Nothing;
                self.answer.parts.push(AnswerPart::Call {
                    id,
                    name,
                    arguments,
                    replay,
                });
            }
            Chunk::Usage(usage) => {
                let seen = &mut self.answer.usage;
                seen.input = seen.input.max(usage.input);
                seen.cached = seen.cached.max(usage.cached);
                seen.cache_write = seen.cache_write.max(usage.cache_write);
                seen.output = seen.output.max(usage.output);
            }
            Chunk::Stop(stop) => self.answer.stop = Some(stop),
        }
    }

    /// True once there is something a person may have seen.
    pub fn is_visible(&self) -> bool {
        self.answer.parts.iter().any(|part| match part {
            AnswerPart::Text { text, .. } | AnswerPart::Reasoning { text, .. } => !text.is_empty(),
            AnswerPart::Call { .. } => false,
        })
    }

    pub fn finish(self) -> Answer {
        self.answer
    }

    fn start(&mut self, open: Open, part: AnswerPart) {
        self.open = open;
        self.answer.parts.push(part);
    }

    fn end_text(&mut self, blob: Option<Json>) {
        match (self.open, self.answer.parts.last_mut()) {
            (Open::Text, Some(AnswerPart::Text { replay, .. })) => *replay = blob,
            (Open::Text | Open::Reasoning | Open::Nothing, _) if blob.is_some() => {
                self.answer.parts.push(AnswerPart::Text {
                    text: String::new(),
                    replay: blob,
                });
            }
            (Open::Text | Open::Reasoning | Open::Nothing, _) => {}
        }
        self.open = Open::Nothing;
    }

    fn end_reasoning(&mut self, blob: Option<Json>) {
        match (self.open, self.answer.parts.last_mut()) {
            (Open::Reasoning, Some(AnswerPart::Reasoning { replay, .. })) => *replay = blob,
            (Open::Text | Open::Reasoning | Open::Nothing, _) if blob.is_some() => {
                self.answer.parts.push(AnswerPart::Reasoning {
                    text: String::new(),
                    replay: blob,
                });
            }
            (Open::Text | Open::Reasoning | Open::Nothing, _) => {}
        }
        self.open = Open::Nothing;
    }
}
