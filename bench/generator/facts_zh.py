"""What can be planted in Chinese sessions: one line per fact, see `FactWords`."""

# One sentence is one line, however long.
# ruff: noqa: E501

from __future__ import annotations

from bench.generator.vocabulary import FactWords

F = FactWords
_WORK = "coding incident analysis"

_RULES = (
    F("constraint", _WORK, "{noun}的页大小", "最多 <210-890/10> 行", "有一条规矩：{subject}{value}，再大网关会悄悄截断。", "{subject}要求{value}，我就按这个截。", "{subject}有什么限制？"),
    F("constraint", _WORK, "{noun}的夜间窗口", "01:<10-28> 到 03:<31-55> 之间", "重活只能放在{subject}跑，也就是 {value}。", "这件事要放到{subject}：{value}。", "{subject}是什么时候？"),
    F("constraint", _WORK, "{service} 实例的内存", "低于 <1100-3900/10> MiB", "不管怎么改，{subject}都要{value}，节点已经满了。", "我对照过{subject}的上限：{value}。", "{subject}上限是多少？"),
    F("constraint", _WORK, "{noun}回填的预算", "每周 <31-97> 个节点小时", "{subject}是{value}，{team}说得很死。", "{subject}只有{value}，所以要拆开跑。", "{subject}是多少？"),
    F("constraint", "support", "善意补偿额度", "每单 <41-97> 元以内", "开始之前说一下：这个月{subject}是{value}，超出要找主管。", "没有超出{subject}：{value}。", "{subject}是多少？"),
    F("constraint", "support", "春季活动的退货期", "签收后 <33-58> 天", "请记住{subject}是{value}，旧文章写的不算。", "{subject}是{value}，这笔还来得及。", "{subject}有多长？"),
    F("constraint", "chat", "这趟旅行的总花费", "不超过 <5100-9800/10> 元", "{subject}要{value}，车票也算在内。", "这样{subject}{value}。", "{subject}可以是多少？"),
    F("constraint", "chat", "厨房搁架的高度", "不高于 <143-197> 厘米", "{subject}得{value}，上面有窗。", "{subject}{value}的话，能放四层。", "{subject}有什么限制？"),
    F("decision", _WORK, "{noun}变更的存储方式", "只追加的 {id_noun} 日志", "{subject}就这么定了：{value}，不再原地更新表。", "按之前定的，{subject}用{value}。", "{subject}最后定的是什么？"),
    F("decision", _WORK, "{noun}编号的格式", "带租户前缀的 <18-29> 位 ULID", "{subject}我们采用{value}，这样能按时间排序。", "{subject}是{value}，照办。", "{subject}选了哪种？"),
    F("decision", _WORK, "{noun}迁移的负责人", "{person}主责、{person_b}备份", "{subject}定下来了：{value}。", "这个交给{subject}，也就是{value}。", "{subject}是谁？"),
    F("decision", _WORK, "{noun}的切换方式", "双写 <12-27> 天", "两种办法权衡下来，{subject}选{value}，之后下线旧路径。", "{subject}定的是{value}，我照这个做。", "{subject}是什么？"),
    F("decision", "support", "破损托盘的赔付", "由 <401-989> 号仓补发", "{subject}这样处理：{value}，不退款。", "{subject}定的是{value}。", "{subject}怎么处理？"),
    F("decision", "support", "重复扣款的处理", "抵扣到发票 RN-<d5>", "{subject}我建议这样：{value}。", "{subject}按定好的来：{value}。", "{subject}怎么定的？"),
    F("decision", "chat", "走廊的地板", "<14-21> 厘米宽的上油落叶松", "那{subject}就定{value}，不改了。", "{subject}你们定了{value}。", "{subject}选了什么？"),
    F("decision", "chat", "回程的交通", "<11-29> 站台的夜车", "{subject}就这么定：{value}，不坐飞机。", "{subject}定的是{value}。", "{subject}是什么？"),
    F("preference", _WORK, "提交说明", "祈使句开头、方括号里放{team}的任务号", "顺便说一句，{subject}我喜欢{value}。", "{subject}按你的习惯写：{value}。", "{subject}要怎么写？"),
    F("preference", _WORK, "报告里的表格", "按 {column} 排序、最宽的列放最后", "{subject}我更喜欢{value}。", "{subject}照你的习惯{value}。", "{subject}要怎么排？"),
    F("preference", _WORK, "时长的写法", "整秒加后缀 s", "{subject}请用{value}，我是在小屏幕上看的。", "{subject}用了{value}。", "{subject}是什么样的？"),
    F("preference", _WORK, "{noun}新测试的命名", "given_when_then 且以 {id_noun} 开头", "{subject}我偏好{value}。", "{subject}遵循{value}。", "{subject}要怎么取？"),
    F("preference", "support", "给企业客户的回信", "署全名并注明 <201-489> 号坐席", "{subject}我习惯{value}。", "{subject}已经{value}。", "{subject}结尾要怎么写？"),
    F("preference", "support", "回电时间", "工作日 <14-17>:<12-48> 以后", "{subject}最好是{value}。", "{subject}我记成{value}。", "希望的{subject}是什么时候？"),
    F("preference", "chat", "早餐", "黑麦面包、不要鸡蛋", "说到{subject}，我最喜欢{value}。", "那家有{value}，{subject}没问题。", "{subject}喜欢吃什么？"),
    F("preference", "chat", "火车座位", "靠窗、第 <3-19> 排往后", "{subject}我喜欢{value}。", "{subject}我找的是{value}。", "{subject}喜欢什么样的？"),
    F("negation", _WORK, "{region} 的 {service}", "不要重启 {region} 的 {service}", "记住一点：{value}，它的缓存要 {few} 个小时才能热起来。", "我没有动它，因为说过{value}。", "对{subject}有什么禁令？"),
    F("negation", _WORK, "{id_noun}_{field} 这一列", "不要删除 {id_noun}_{field} 这一列", "请{value}，审计还在读。", "说好了{value}，所以保留。", "对{subject}不可以做什么？"),
    F("negation", _WORK, "{config}", "不要手工修改 {config}", "还有，{value}，它是{team}的发布任务生成的。", "我绕过去了，因为要求{value}。", "对 {subject} 不可以做什么？"),
    F("negation", _WORK, "{region_b} 的数据", "不要合并 {region_b} 的数据", "出于合规原因，{value}到一起。", "它们分开放，因为{value}。", "对{subject}有什么禁令？"),
    F("negation", "support", "账号 {customer}", "不要打电话联系 {customer}", "还有一点：{value}，对方书面要求过。", "我改发信件，备注写着{value}。", "对{subject}不可以做什么？"),
    F("negation", "support", "订单 {order}", "不要取消 {order}", "请{value}，哪怕系统提示可以。", "它保持原样，要求是{value}。", "对{subject}不可以做什么？"),
    F("negation", "chat", "{person}", "不要向{person}透露惊喜", "如果替我们写消息，{value}。", "我写得很中性，{value}嘛。", "对{subject}有什么不能做？"),
    F("negation", "chat", "走廊的旧灰泥", "不要打磨走廊的旧灰泥", "师傅说得很清楚：{value}，里面可能有铅。", "所以得换个办法，师傅说{value}。", "对{subject}有什么禁忌？"),
)  # fmt: skip

_UPDATES = (
    F("update", _WORK, "{noun}的保留期", "<61-118> 天", "跟{team}聊过了，{noun}数据可以留得比我之前说的久，改成 {value}吧。", "{subject}我设成 {value}。", "{subject}现在是多久？", first="{subject}是 {old}，清理的时候会用到。"),
    F("update", _WORK, "{service} 的超时", "<2150-4900/50> ms", "等 {service} 多久，我之前给的数字作废，厂商建议用 {value}。", "这次改动里{subject}是 {value}。", "{subject}现在是多少？", first="凡是遇到{subject}，都设成 {old}。"),
    F("update", _WORK, "{noun}的目标版本", "{version_b}-rc<2-8>", "我们延期了：{noun}这块跟着 {value} 发，之前那一趟赶不上了。", "这个会随 {value} 发布。", "{subject}现在是哪个？", first="{subject}是 {old}，写进说明里。"),
    F("update", _WORK, "{noun}改动的评审人", "{team}的{person}", "以后{noun}的东西换人看：请找{value}。", "我请{value}来看。", "{subject}现在是谁？", first="{subject}是{old}。"),
    F("update", "support", "{order} 的退款金额", "<131-489>.<10-89> 元", "我算错了，加上邮费，{order} 应该退给对方 {value}。", "{subject}按 {value}入账。", "{subject}现在是多少？", first="{subject}是 {old}，包裹退回来就入账。"),
    F("update", "support", "{order} 的送货日", "6 月 <11-28> 日", "客户那天不在家，车改到 {value}去。", "{subject}是 {value}，我已经告诉仓库。", "{subject}现在是哪天？", first="{subject}是 {old}。"),
    F("update", "chat", "出发的日子", "9 月 <12-27> 日", "{person}要上班，我们得改到 {value}走。", "你们 {value}走，所以我从那天开始查。", "{subject}现在是哪天？", first="{subject}定好了：{old}。"),
    F("update", "chat", "卧室的颜色", "鼠尾草绿 <301-780> 号", "白天看了样板，卧室我改主意了，要{value}。", "卧室就是{value}。", "{subject}现在是什么？", first="{subject}选好了：{old}。"),
)  # fmt: skip

_FINDINGS = (
    F("path", _WORK, "{noun}的测试数据", "{product}/testing/data/{id_noun}_<d4>.jsonl", "{subject}在 {value}，tests 下面的那份只是占位", "{subject}我取自 {value}。", "{subject}放在哪里？", near="{noun_b}的测试数据在 {product}/testing/data/{id_noun_b}_<d4>.jsonl"),
    F("path", _WORK, "{service} 的覆盖配置", "deploy/overlays/{region}/{service}-<d3>.yaml", "{subject}在启动时从 {value} 读取", "{subject}在 {value}，要改就改那里。", "{subject}在哪个文件？", near="{service_b} 的覆盖配置从 deploy/overlays/{region}/{service_b}-<d3>.yaml 读取"),
    F("path", _WORK, "{noun}规则的背景", "docs/decisions/<d4>-{id_noun}-rules.md", "{subject}见 {value}", "{subject}写在 {value}。", "{subject}在哪份文档？", near="{noun_b}规则的背景见 docs/decisions/<d4>-{id_noun_b}-rules.md"),
    F("path", "support", "签收单", "archive/2026/{customer}/note-<d5>.pdf", "{subject}归档在 {value}", "{subject}是 {value}。", "{subject}归档在哪里？", near="没签字的副本归档在 archive/2026/{customer_b}/note-<d5>.pdf"),
    F("path", "support", "海关信函模板", "templates/customs/letter-<d3>-zh.docx", "{subject}用 {value}", "{subject}我用的是 {value}。", "{subject}是哪个文件？", near="以前的信函用 templates/customs/letter-<d3>-en.docx"),
    F("path", "chat", "户型图", "Documents/flat/plan-<d4>.pdf", "带新尺寸的{subject}是 {value}", "尺寸我取自 {value}。", "{subject}在哪个文件？", near="早期草图是 Documents/flat/sketch-<d4>.pdf"),
    F("path", "chat", "预订确认", "Documents/journey/confirmation-<d5>.eml", "{subject}存为 {value}", "{subject}是 {value}。", "{subject}存在哪里？", near="没接受的报价存为 Documents/journey/offer-<d5>.eml"),
    F("identifier", _WORK, "失败的 {id_noun} 任务", "{id_noun}-job-<hex8>", "{subject}是 {value}，由{person}发起", "我看一下{subject} {value}。", "{subject}编号是什么？", near="跑通的 {id_noun} 任务是 {id_noun}-job-<hex8>，由{person_b}发起"),
    F("identifier", _WORK, "{noun}的功能开关", "enable_{id_noun}_{field}_v<2-9>", "{subject}叫 {value}", "关键就在 {value}。", "{subject}叫什么？", near="{noun_b}的功能开关叫 enable_{id_noun_b}_{field}_v<2-9>"),
    F("identifier", _WORK, "{noun}坏掉的租户", "tnt_<d7>", "{subject}是 {value}，其他都正常", "我按 {value} 过滤。", "{subject}是哪个？", near="最后迁移的租户是 tnt_<d7>"),
    F("identifier", "support", "补发的单号", "RPL-<d7>", "{subject}是 {value}", "{subject}是 {value}。", "{subject}是什么？", near="第一次发货的单号是 RPL-<d7>"),
    F("identifier", "support", "故障设备的序列号", "SN<d4>-<d5>", "{subject}是 {value}", "{subject}我填了 {value}。", "{subject}是什么？", near="备用设备的序列号是 SN<d4>-<d5>"),
    F("identifier", "chat", "酒店预订码", "HTL-<d6>", "{subject}是 {value}，入住时要用", "{subject}是 {value}。", "{subject}是什么？", near="取消的那间预订码是 HTL-<d6>"),
    F("identifier", "chat", "图书馆那本书的编号", "LIB-<d6>-K", "{subject}是 {value}", "{value} 这本可以续借。", "{subject}是什么？", near="馆内阅览本的编号是 LIB-<d6>-R"),
    F("number", _WORK, "改动前 {verb}_{id_noun} 的 p99", "<1310-4890/10> ms", "基线：{subject}是 {value}", "{subject}是 {value}，现在确实快了。", "{subject}是多少？", near="基线：{verb}_{id_noun} 的 p50 是 <120-310> ms"),
    F("number", _WORK, "最大的{noun}消息", "<2.1-7.9> MiB", "目前见过{subject}有 {value}", "上限得容得下 {value}。", "{subject}有多大？", near="{noun}消息的中位数是 <0.1-0.9> MiB"),
    F("number", _WORK, "{service} 的积压", "<21000-98000/7> 条", "写这段话时{subject}有 {value}", "和当时{subject} {value}相比，已经很少了。", "{subject}有多少？", near="{service_b} 的积压有 <1100-9800/7> 条"),
    F("number", "support", "退回包裹的重量", "<3.1-18.9> kg", "{subject}在柜台称得 {value}", "{subject}是 {value}，运费就清楚了。", "{subject}是多少？", near="寄出的包裹重 <19.1-29.9> kg"),
    F("number", "support", "交接时的电表读数", "<21000-98000/7> kWh", "{subject}是 {value}", "我填的是 {value}。", "{subject}是多少？", near="原来的估计是 <11000-19000/7> kWh"),
    F("number", "chat", "走廊的宽度", "<151-239> 厘米", "重新量过：{subject}是 {value}", "{subject}有 {value}，还放得下一张长凳。", "{subject}是多少？", near="楼梯的宽度是 <81-119> 厘米"),
    F("number", "chat", "到观景台的路程", "<3.1-9.8> km", "{subject}单程 {value}", "上去要走 {value}，早点出发。", "{subject}有多远？", near="到湖边的路程是 <1.1-2.9> km"),
    F("error", _WORK, "{noun}导入", "{error}: E<d4> 租约纪元倒退", "{subject}停在 {value}", "{subject}当时停在 {value}。", "{subject}停在什么错误上？", near="{noun_b}导入会打印 {error_b}: E<d4>，但不影响继续"),
    F("error", _WORK, "{service} 的发布", "ERR_{FIELD}_QUORUM_<d3>", "{subject}被 {value} 拒绝", "{subject}就是被 {value} 拒绝的。", "{subject}因为什么错误被拒绝？", near="{service_b} 的发布出现过一次 ERR_{FIELD}_STALE_<d3>"),
    F("error", _WORK, "{noun}重放", "退出码 <71-119>（摘要不一致）", "{subject}以{value}结束", "当时{subject}以{value}结束，所以我先比摘要。", "{subject}是怎么结束的？", near="{noun_b}重放以退出码 <31-59> 结束"),
    F("error", "support", "平板上的付款", "PAY-<d4> 发卡行拒绝", "{subject}失败，提示 {value}", "提示是 {value}。", "{subject}失败时提示什么？", near="手机上的付款显示 PAY-<d4> 处理中"),
    F("error", "support", "标签打印", "LBL-<d4> 纸张规格未知", "{subject}报 {value}", "{value} 是已知问题。", "{subject}报什么错？", near="扫描报 LBL-<d4> 盖子未关"),
    F("error", "chat", "暖气面板", "故障 F<d3> 流量传感器", "{subject}显示{value}", "说明书里解释了{value}。", "{subject}显示什么故障？", near="去年冬天显示过故障 F<d3> 压力低"),
    F("error", "chat", "购票网站", "代码 TK-<d4> 缺少座位图", "{subject}停在{value}", "订票就是卡在{value}。", "{subject}停在什么代码上？", near="大巴网站停在代码 BK-<d4>"),
)  # fmt: skip

_WAYS = (
    F("command", _WORK, "从头重建{noun}", "make {id_noun}-rebuild SHARD=<d3>", "要{subject}，就跑 `{value}`，别的命令不会清索引。", "{subject}用 `{value}`。", "{subject}用什么命令？"),
    F("command", _WORK, "手工重放一条{noun}", "{product}ctl replay --{id_noun} <d6> --as-of epoch", "{subject}的办法是 `{value}`。", "`{value}` 就可以。", "{subject}用什么命令？"),
    F("command", _WORK, "检查 {service} 的契约", "pytest contracts/{service} -k v<d3> --strict-wire", "{subject}用 `{value}`，普通测试不包含这部分。", "现在跑 `{value}`。", "{subject}用什么命令？"),
    F("command", "support", "重新打印退货标签", "labels reprint --return <d7> --a6", "要{subject}，柜台工具里输 `{value}`。", "我跑了 `{value}`。", "{subject}用什么命令？"),
    F("command", "support", "解锁账号", "accounts unlock {customer} --reason <d3>", "要{subject}，在柜台工具里输 `{value}`。", "我输入了 `{value}`。", "{subject}用什么命令？"),
    F("command", "chat", "转换照片", "magick mogrify -resize <1210-2890/10>x -quality 82 *.jpg", "{subject}我姐给了我 `{value}`。", "这个你有 `{value}`。", "{subject}用什么命令？"),
    F("command", "chat", "备份笔记", "rsync -a notes/ attic:backup-<d4>/", "{subject}我用 `{value}`。", "你的命令是 `{value}`。", "{subject}用什么命令？"),
    F("next_step", _WORK, "{noun}修复之后的下一步", "比对最旧的 <d3> 条 {id_noun} 摘要", "{subject}是{value}，我还没开始。", "{subject}还剩：{value}，我现在做。", "{subject}是什么？"),
    F("next_step", _WORK, "{service} 还没做的事", "把 {metric} 的告警阈值调到 <410-980>", "{subject}：{value}，等曲线平稳了再动。", "{subject}有一件：{value}。", "{subject}是什么？"),
    F("next_step", _WORK, "接下来要给{person}办的事", "用 <d5> 号查询发送{noun}数字", "{subject}：{value}。", "{subject}在我的清单上：{value}。", "{subject}是什么？"),
    F("next_step", "support", "{case} 的下一步", "向仓库索要 <d4> 号照片", "{subject}是{value}。", "{subject}还剩这个：{value}。", "{subject}是什么？"),
    F("next_step", "support", "税务凭证还剩的事", "把 <d5> 号副本寄给会计", "{subject}：{value}。", "{subject}我还记着：{value}。", "{subject}是什么？"),
    F("next_step", "chat", "卫生间接下来要做的", "问水管工 <d3> 号阀门", "{subject}是{value}。", "{subject}：{value}。", "{subject}是什么？"),
    F("next_step", "chat", "旅行清单的下一项", "预订 <11-19> 层甲板的舱位", "{subject}：{value}。", "{subject}还在：{value}。", "{subject}是什么？"),
)  # fmt: skip

FACTS = (*_RULES, *_UPDATES, *_FINDINGS, *_WAYS)
