"""English requests, thoughts and reports of the kinds support and chat."""

# One sentence is one line, however long.
# ruff: noqa: E501

from __future__ import annotations

from bench.generator.vocabulary import KindWords

SUPPORT = KindWords(
    system=(
        "You are a support agent of {product} who works through customers' cases with tools. Be "
        "friendly and exact, look facts up before stating them, follow the help articles, and note "
        "every promise in the case. update_plan holds what is still to be done for the customer."
    ),
    requests=(
        "Hello, my order {order} hasn't arrived and the tracking stands still since {date}.",
        "I was charged {price} twice, can you check that?",
        "Next one: {customer} writes that the voucher isn't accepted.",
        "Our team account has {few} users, and only one of them can export.",
        "I returned two of the {few} items and got the refund for one.",
        "Could you find out what was promised to us in {case}?",
        "The invoice carries the old address, I need it corrected for the tax office.",
        "Since {version} I can't log in on the tablet, on the phone it works.",
        "I'd like to change the delivery of {order} to {city}.",
        "The replacement came, but it's the wrong size again.",
        "Please look at my last orders, one of them isn't mine.",
        "Can the subscription pause from {date} on?",
    ),
    contexts=(
        "I already talked to {person}.", "It's the second time this month.",
        "The case before was {earlier_case}.", "I need it by {date}.",
        "We are in {city} until then.", "I attached the photo to the case.",
        "My colleague had the same with {order}.", "The mail said {few} working days.",
    ),
    wishes=(
        "Please answer by mail too.", "I don't want a voucher this time.",
        "A short yes or no is fine.", "Tell me what you need from me.",
        "Please don't close the case yet.", "Thanks for looking into it.",
    ),
    findings=(
        "I see the order: it left {city} on {date} and is waiting for a customs paper.",
        "The second charge is a reservation, it falls away after {few} days.",
        "The voucher is bound to another account, I have moved it to yours.",
        "Only the owner may export; I can make {person} an owner as well.",
        "One of the two items hasn't been scanned yet, so the refund follows when it is.",
        "In {case} you were promised a free return, and that still holds.",
        "A new invoice with the right address is on its way, the old one is cancelled.",
        "The tablet keeps an old session; signing out everywhere solves it.",
        "The parcel is in {city} and can still be redirected until {hour}.",
        "The subscription pauses from {date}; nothing is charged until you go on.",
        "The right size leaves with the next van; the wrong one may be handed back to the driver.",
        "One of the orders was placed from an unknown device; I have stopped it and reset the sign-in.",
    ),
    details=(
        "The note is in {case}.", "Your earlier case {earlier_case} is linked now.",
        "The amount is {price}.", "It takes up to {few} working days.",
        "My colleague {person} in {city} knows about it.", "I checked {order} as well, it is fine.",
        "The article on this was updated on {date}.", "You will get a mail at {hour}.",
    ),
    offers=(
        "Is there anything else?", "Shall I call you when it moves?", "I leave the case open.",
        "Please send the photo when you can.", "I'm sorry for the trouble.",
        "If nothing has come by {date}, write to us again.",
    ),
    plan=(
        "Find {order}", "Read {case}", "Ask the warehouse in {city}", "Correct the invoice",
        "Refund {price}", "Write to {person}", "Link the older case", "Check the voucher",
        "Confirm by mail", "Look again on {date}",
    ),
    thoughts={
        "": (
            "I look that up for you.", "One moment, I check both records.",
            "Let me see what was said before.", "I compare it with {earlier_case}.",
            "That needs a look at the article first.",
        ),
        "find_customer": ("I open the record of {target}.", "Let me find {target}."),
        "get_orders": ("The orders of {target}.", "Which orders does {target} have?"),
        "read_case": ("I read the case {target}.", "What happened in {target}?"),
        "search_help": ("What do our articles say about {target}?", "Looking for {target} in the help."),
        "run_query": ("The bookings behind it.", "I check {target}."),
        "add_note": ("I note that in the case.", "A note for the colleagues."),
        "update_plan": ("What is still to be done.", "I keep the list up to date."),
    },
)  # fmt: skip

CHAT = KindWords(
    system=(
        "You are a helpful companion in a long conversation about plans: a journey, a flat that is "
        "being renovated, things to read and to buy. Remember what people tell you, look things up "
        "when facts matter, say what you are unsure of, and keep the list in update_plan."
    ),
    requests=(
        "We thought about {city} again. What would two days there look like?",
        "Which of the places that you found is closest to the station?",
        "For the kitchen I can't decide between oak and ash. What speaks for which?",
        "Can you look up trains from {city} to {city_b} on {date}?",
        "I read half of the book, and the middle part is hard. Is it worth going on?",
        "{person} is coming along for {few} days. Does that change the plan?",
        "What else should be done before the painters come on {date}?",
        "I'd like a place for dinner that isn't loud, for {few} people.",
        "How much have we planned to spend so far, roughly?",
        "Is there something to see in {city} when it rains?",
        "The floor is uneven by a few millimetres. Can I lay boards on it anyway?",
        "Please compare the two offers for the bathroom.",
        "My mother asked whether the flat in {city} has a lift. Do we know?",
        "Let's go through the list once more.",
    ),
    contexts=(
        "The last time we were there it was {date}.", "I liked {earlier_id} from the page.",
        "{person} would rather take the earlier train.", "It may cost about {price} euros.",
        "I have slept badly, so something easy please.", "We have {few} evenings left for it.",
        "The neighbours have done the same.", "I am not in a hurry.",
    ),
    wishes=(
        "Just your opinion, no long list.", "Look it up, please.", "Two or three ideas are enough.",
        "Tell me what you would do.", "Say it if that is a bad idea.", "What am I missing?",
    ),
    findings=(
        "In {city} I'd take the old town on the first day and the river on the second; everything is within {minutes} minutes.",
        "Oak is harder and darkens, ash is lighter and moves more with the seasons; in a kitchen I'd take oak.",
        "There is a direct train at {hour}, and one with a change at {hour_b} that is {price} euros cheaper.",
        "The middle part gets easier once the sister appears, about {few} chapters later.",
        "With {person} along the small room is too small; the one to the garden has {few} beds.",
        "A few millimetres are fine with an underlay, more than that needs levelling first.",
        "The cheaper offer leaves out the tiles, so they're closer than they look.",
        "For rain there is the print museum and the covered market, both open until {evening}.",
        "So far the plan comes to about {price} euros, without food.",
        "Before the painters come, the sockets should be off and the floor covered.",
        "The closest is the one on {earlier_path}, {minutes} minutes from the platform.",
        "There is a small place with {few} tables behind the market; it fills up after {evening}, so write first.",
        "The page says that there is a lift, but it stops half a floor below, so ask again.",
        "Of the list {few} things are done and {few_b} are open; the paint and the tickets can't wait.",
    ),
    details=(
        "The page with the prices is {earlier_path}.", "{earlier_id} was the one with the courtyard.",
        "It has {few} rooms left on {date}.", "From {city} it takes {minutes} minutes.",
        "Reviews are good but few.", "I am not sure about the opening hours in winter.",
        "{person} might like that.", "It isn't cheap, but central.",
        "You said before that quiet matters more than the view.",
    ),
    offers=(
        "Shall I put it on the list?", "Do you want me to look at trains, too?",
        "We can leave it open until {date}.", "Sleep on it.", "I'd decide after seeing it.",
        "What does {person} think?",
    ),
    plan=(
        "Book the room in {city}", "Ask {person} about the dates", "Order samples of oak",
        "Measure the hall", "Compare the two offers", "Return the book", "Buy train tickets",
        "Call the electrician", "Find a restaurant for {few}", "Pack the paint",
    ),
    queries=(
        "two days in {city}", "rooms near the station {city}", "oak or ash for a kitchen worktop",
        "train {city} {city_b} {date}", "novel second half worth reading", "room with {few} beds {city}",
        "preparing walls before painting", "quiet restaurant {city}", "prices tickets rooms {city}",
        "{city} on a rainy day", "levelling a floor before laying boards", "bathroom renovation offers",
        "flats with lift {city}", "opening hours {city}",
    ),
    thoughts={
        "": (
            "I look at a few pages.", "Let me check that.", "I compare it with {earlier_id}.",
            "Good question, one moment.",
        ),
        "web_search": ("Searching for {target}.", "Let me see what there is on {target}."),
        "open_page": ("I open {target}.", "The page {target} should have it."),
        "read_note": ("I look into the notes.", "What did we write down?"),
        "save_note": ("I write that down.", "Saved for later."),
        "update_plan": ("The list, up to date.", "I change the list."),
    },
)  # fmt: skip
